"""Shares of the executor classes: the search for the best, and a bound on all."""
