"""The platform while it runs: policies so far, queues and invokers now."""
