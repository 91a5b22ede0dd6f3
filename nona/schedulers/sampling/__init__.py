"""Schedulers that sample configurations from tables, whatever the queues: one decision function."""
