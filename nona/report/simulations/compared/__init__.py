"""A run beside the one before it: what changed in the scenario and in the results."""
