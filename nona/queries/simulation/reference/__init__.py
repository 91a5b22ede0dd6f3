"""The readable engine of queries, in SimPy."""
