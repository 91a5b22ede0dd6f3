"""Learned schedulers."""
