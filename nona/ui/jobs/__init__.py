"""Long work in worker processes, as the server sees it."""
