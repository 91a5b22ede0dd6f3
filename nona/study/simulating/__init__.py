"""Simulations of a prepared study: replications, early results, pieces on several processes."""
