"""The study of serverless policies in words and rows: findings, and the claims of the slides."""
