"""Simulation of queries."""
