"""The paper's evaluation, run anew: findings, tables and text from its plain data."""
