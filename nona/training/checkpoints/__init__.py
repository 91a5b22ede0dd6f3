"""Failures and checkpoints: how often to save, what failures cost, and progress between them."""
