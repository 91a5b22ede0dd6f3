"""Elastic training jobs: their GPUs, and under some policies their batch size, change."""
