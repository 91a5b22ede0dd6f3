"""Work of worker processes."""
