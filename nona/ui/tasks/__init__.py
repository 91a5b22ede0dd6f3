"""What a worker does, one module for each kind of job."""
