"""Work on training clusters: run the policies, add one GPU of each type."""
