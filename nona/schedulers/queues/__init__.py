"""Schedulers that place tasks or whole queries at arrival, by chance or by the queues."""
