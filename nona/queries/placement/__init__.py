"""Placement of queries: the formula and its certificate."""
