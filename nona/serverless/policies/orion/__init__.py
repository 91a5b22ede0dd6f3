"""Orion: all stages sized at once when the first is scheduled."""
