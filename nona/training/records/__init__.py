"""What a run leaves: who ran where, checks, metrics."""
