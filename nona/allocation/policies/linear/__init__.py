"""Policies that solve linear programs over the allocations."""
