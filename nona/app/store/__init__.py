"""Saved results in a database."""
