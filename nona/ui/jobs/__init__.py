"""Long work in worker processes: kinds of jobs, the registry, the pool, and what a task is given."""
