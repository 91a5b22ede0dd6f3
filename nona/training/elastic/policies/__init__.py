"""Policies that give elastic jobs their GPUs, tick by tick."""
