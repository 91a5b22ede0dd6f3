"""Training clusters as scenarios and files describe them: prepared, allocated, simulated."""
