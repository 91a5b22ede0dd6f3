"""Figures of serverless runs and of their study."""
