"""Schedulers that search a placement for each model alone, on an empty cluster."""
