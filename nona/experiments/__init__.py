"""Experiments: many independent runs, in this process or in several, with one interface."""
