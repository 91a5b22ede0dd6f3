"""Measured times of functions: the shipped table, and the law fitted to measurements."""
