"""Interiors of sub-graphs: which configurations are considered, and what bounds the others."""
