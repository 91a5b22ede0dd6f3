"""Elastic training jobs: one workload under several policies, and the study over load and interference."""
