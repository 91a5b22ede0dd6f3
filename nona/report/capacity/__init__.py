"""Capacity: the servers that keep the SLOs, as a report and as a figure."""
