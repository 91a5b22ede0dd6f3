"""Reports on jobs that keep their GPUs."""
