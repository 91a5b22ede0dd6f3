"""The search for a purchase: options bounded, predicted, simulated until a verdict stands."""
