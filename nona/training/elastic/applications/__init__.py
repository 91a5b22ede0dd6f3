"""Measured applications: times by placement and batch size, progress by epoch, gradient noise."""
