"""What to buy: options of a scenario bounded, predicted, simulated until a verdict stands, and compared."""
