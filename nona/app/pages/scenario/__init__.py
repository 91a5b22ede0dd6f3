"""The page of the scenario."""
