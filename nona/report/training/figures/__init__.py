"""Figures of training clusters as pure functions; their titles are in :mod:`nona.report.training.titles`."""
