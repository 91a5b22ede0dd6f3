"""Serverless workflows: prepared, simulated, compared, and the shipped study."""
