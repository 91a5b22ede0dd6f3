"""Long work in worker processes: the registry, the pool, the worker's own side, the panel on a page."""
