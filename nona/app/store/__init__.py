"""Saved results in a data base."""
