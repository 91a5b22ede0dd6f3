"""Solvers: the point of least mean JCT, certified or for comparison, by name."""
