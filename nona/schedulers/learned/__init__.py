"""Schedulers that were trained: a graph network scores a task with an executor."""
