"""What to buy: options bounded, predicted, simulated until a verdict stands."""
