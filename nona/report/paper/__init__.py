"""The paper's evaluation, repeated: findings, tables and text from its plain data."""
