"""The Serverless page: workflows on GPUs that are shared, and the policies that size their batches."""
