"""Scenarios: everything a study depends on, as one validated object, and its file."""
