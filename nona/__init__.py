"""Nona Planner: should ML inference queries be split over a shared GPU cluster, and how?"""

__version__ = "0.1.0"
