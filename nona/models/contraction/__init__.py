"""Contraction rules and the contracted graph."""
