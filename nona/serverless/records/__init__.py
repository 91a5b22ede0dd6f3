"""Records of serverless runs: calls, batches, intervals, checks, and what was measured."""
