"""Schedulers that pick a ready task for a free executor."""
