"""Devices, MIG geometry, executors."""
