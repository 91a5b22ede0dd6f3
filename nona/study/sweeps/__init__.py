"""Sweeps: one number of a scenario varied, prediction and simulation, curves that refine."""
