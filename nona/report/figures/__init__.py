"""Figures as pure functions: what all share, how schedulers look, one module for each kind of chart."""
