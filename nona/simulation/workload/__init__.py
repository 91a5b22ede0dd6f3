"""Workload: arrivals, traces, service times, and the jobs of one replication."""
