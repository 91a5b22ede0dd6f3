"""Serverless workflows: reports on simulations, the study and the capacity search."""
