"""Simulation: workload, engines, records, statistics, and the queueing theory they must obey."""
