"""Schedulers that give each query class a set of executors, round by round."""
