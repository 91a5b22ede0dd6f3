"""Prediction compared with simulation over load, background, locality and models: ``nona study prediction``.

Every shipped scenario and generated network, arrivals in bursts, placements from all local to all spread,
servers and link loaded up to 0.85; the predicted mean, 95th percentile and share of SLO misses beside the
simulated ones. One run of it ships with the program and tells the pages where a prediction can be relied on.
"""

from nona.study.prediction_map.run import MapSettings, map_study

__all__ = ["MapSettings", "map_study"]
