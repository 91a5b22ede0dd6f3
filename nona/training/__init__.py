"""Training clusters: long jobs on GPUs of several types, shared round by round."""
