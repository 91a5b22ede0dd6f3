"""The Plan page: what to buy so that all targets hold."""
