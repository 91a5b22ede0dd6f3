"""Schedulers that were trained: a graph network scores a ready task together with an executor."""
