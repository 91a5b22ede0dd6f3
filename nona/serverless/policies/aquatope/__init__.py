"""Aquatope: all stages sized offline by Bayesian optimisation."""
