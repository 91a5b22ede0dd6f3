"""What to buy, and whether it holds."""
