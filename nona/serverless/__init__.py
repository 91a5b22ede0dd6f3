"""Serverless workflows on shareable GPUs: batched, sized and dispatched to keep an SLO."""
