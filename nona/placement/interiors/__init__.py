"""Large interiors: configurations worth their price, found by search and column generation."""
