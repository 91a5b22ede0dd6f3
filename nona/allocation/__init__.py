"""Shares of a cluster: policies that divide it among jobs, and the programs they solve."""
