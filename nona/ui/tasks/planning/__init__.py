"""What a worker does to size a cluster."""
