"""Studies of training clusters: prepare, simulate, compare."""
