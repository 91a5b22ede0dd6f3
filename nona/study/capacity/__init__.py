"""Capacity: the fewest servers of a group that keep the SLOs, scheduler by scheduler and device by device."""
