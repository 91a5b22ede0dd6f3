"""Scenarios: everything a study depends on, as one validated, immutable object, and its file."""
