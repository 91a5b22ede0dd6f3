"""Readers of model files, guarded."""
