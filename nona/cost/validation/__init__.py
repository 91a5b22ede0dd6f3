"""The cost formula against published latencies of networks that it was not fitted to."""
