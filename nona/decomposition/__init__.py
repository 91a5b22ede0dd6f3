"""Decomposition: cut the task graph at its dominators into sub-graphs placed independently."""
