"""Placement: probabilities of configurations with the least mean JCT, with a certificate."""
