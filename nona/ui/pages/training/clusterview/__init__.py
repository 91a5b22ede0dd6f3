"""The training cluster while it runs: policies so far, jobs that run and wait, who has which GPU."""
