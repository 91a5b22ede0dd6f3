"""Inference queries on a shared cluster."""
