"""Saved items in words: lists, and several side by side."""
