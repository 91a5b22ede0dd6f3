"""The paper's evaluation, reproduced: findings, tables and text from its plain data."""
