"""Policies that give parts of the cluster: equal, proportional, by partial allocation."""
