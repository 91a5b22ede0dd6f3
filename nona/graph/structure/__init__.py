"""Algorithms on directed graphs: order, knots, reduction, blocks of modules."""
