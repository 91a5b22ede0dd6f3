"""Serverless workflows."""
