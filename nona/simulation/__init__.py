"""Simulation: workload, two engines, records, statistics, and theory to check them by."""
