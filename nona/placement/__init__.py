"""Placement: probabilities of configurations that minimise the mean JCT, with a certificate."""
