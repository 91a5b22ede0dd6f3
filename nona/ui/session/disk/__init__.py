"""Workspaces on disk: what is saved, when, how it is read back, and what is removed."""
