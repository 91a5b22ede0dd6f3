"""Sweeps: one number of a scenario varied, prediction beside simulation, curves that refine."""
