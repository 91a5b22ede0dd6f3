"""The Placement page: findings, configurations, the working."""
