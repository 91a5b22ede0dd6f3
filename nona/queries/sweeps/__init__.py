"""Sweeps of one or two numbers."""
