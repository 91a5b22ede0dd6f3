"""A run compared with the previous one: changes in the scenario and in the results."""
