"""Policies over one number of a scenario: findings, rows, text."""
