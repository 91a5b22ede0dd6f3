"""Shares of the executor classes: what fits where, what is stable, and which shares are best."""
