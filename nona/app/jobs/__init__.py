"""Jobs of the app: who waits, who runs, in which worker process."""
