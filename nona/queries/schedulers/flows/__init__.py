"""Schedulers that share devices among flows, round by round."""
