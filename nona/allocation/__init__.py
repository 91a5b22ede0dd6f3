"""Shares of a cluster: policies that divide it among jobs, and the programs that they solve.

Training clusters ask them for shares of time of long jobs, schedulers of inference queries for executors of
query classes. ``policies/`` has a policy in each module, ``programs/`` the linear programs.
"""
