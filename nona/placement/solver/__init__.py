"""Solvers: the point of least mean JCT, at a constant server wait and at the one it brings about."""
