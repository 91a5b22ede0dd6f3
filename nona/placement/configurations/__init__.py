"""Configurations: labels of tasks by server, the shape of a sub-graph, and its symmetry."""
