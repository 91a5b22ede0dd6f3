"""Policies whose main decision is which jobs share GPUs."""
