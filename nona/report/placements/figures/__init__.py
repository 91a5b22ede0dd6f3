"""Figures of a placement: configurations, congestion, waits at links, steps of the search."""
