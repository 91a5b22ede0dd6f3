"""What it costs that a job changes its GPUs, and whether a new answer is worth its moves."""
