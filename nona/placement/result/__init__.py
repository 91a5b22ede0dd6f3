"""The result: configurations with probabilities, a prediction, bounds; plain data."""
