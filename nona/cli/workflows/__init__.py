"""What `nona serverless` does beyond one comparison: runs over a number, files."""
