"""Results on training clusters: one allocation, simulations, what the page shows."""
