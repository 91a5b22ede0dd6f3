"""Benchmarks: every module prints ratios measured in one run; ``python -m benchmarks`` runs them all."""
