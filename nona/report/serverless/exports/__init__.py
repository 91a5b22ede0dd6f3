"""A serverless run as files: a table of its calls, a timeline for Perfetto."""
