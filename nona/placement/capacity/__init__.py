"""Capacity: which models fit which executors, which shares of the executor classes are stable."""
