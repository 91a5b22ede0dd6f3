"""What a run depends on: nodes, jobs, and both together."""
