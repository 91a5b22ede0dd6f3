"""Waits: mean waits at executors and links, and what one more visit or byte adds to them."""
