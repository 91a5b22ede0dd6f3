"""Training clusters."""
