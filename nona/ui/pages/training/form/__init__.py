"""The form of the Training page: jobs, GPUs and prices, policies, rounds."""
