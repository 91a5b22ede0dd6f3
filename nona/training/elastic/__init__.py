"""Elastic training jobs: their GPUs, and under some policies their batch size, change while they run.

``applications/``: how fast a job steps and how much a step brings it forward; ``model/``: cluster, jobs,
workloads; ``policies/``: who gets which GPUs; ``engine/``: time in ticks; ``records/``: what a run leaves.
"""
