"""What is scheduled, on what, and how fast: jobs, clusters, throughputs."""
