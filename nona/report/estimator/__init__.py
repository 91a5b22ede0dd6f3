"""The study of the throughput estimator in words and rows."""
