"""Schedulers of queries."""
