"""Reports on serverless workflows: findings, tables, figures, exports."""
