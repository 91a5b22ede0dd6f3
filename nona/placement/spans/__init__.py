"""Spans: what a configuration sends, and the longest path through it at given waits."""
