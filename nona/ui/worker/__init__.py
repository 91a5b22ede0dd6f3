"""The worker process: it runs the tasks of one session after another."""
