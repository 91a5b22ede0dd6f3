"""Statistics of runs: intervals, percentiles, paired differences, warm-up, overload."""
