"""What a run leaves: who had which GPUs, checks, measures."""
