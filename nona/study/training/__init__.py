"""Training clusters and elastic jobs: prepared, allocated, simulated; their studies."""
