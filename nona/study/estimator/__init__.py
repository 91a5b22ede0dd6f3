"""The throughput estimator on the shipped table."""
