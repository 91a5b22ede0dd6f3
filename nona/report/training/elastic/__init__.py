"""Reports on elastic jobs: one workload, and the study."""
