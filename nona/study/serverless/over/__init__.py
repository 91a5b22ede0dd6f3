"""Policies over the values of one number of a scenario, and the knees up to which they keep the SLOs."""
