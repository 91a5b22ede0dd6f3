"""Policies for teams that share one cluster."""
