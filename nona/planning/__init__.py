"""Purchase planning: targets and offers, prices, traffic by the hour, the sequential verdict."""
