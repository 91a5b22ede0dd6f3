"""Enumeration: which configurations of a sub-graph are considered, and how many there are."""
