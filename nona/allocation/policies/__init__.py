"""Policies: from the jobs that are there to shares of time on each type of GPU, one file each."""
