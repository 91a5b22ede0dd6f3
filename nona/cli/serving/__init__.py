"""Serving the app beyond this machine: who may come in, and what is said about it."""
