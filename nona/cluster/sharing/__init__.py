"""Ways of sharing a GPU."""
