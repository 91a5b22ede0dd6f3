"""Simulation: workload, engines, records, statistics, and the queueing theory they must obey.

* ``workload/``: arrivals, traces, service times, the jobs of a replication, the plan of a query class.
* ``reference/``: the readable engine on SimPy. ``compiled/``: the fast one; ``compiled/events/`` has a file
  for each of ``reference/``.
* ``records/``: what a run leaves behind, and its checks. ``statistics/``: intervals, percentiles, paired
  differences, warm-up, overload.
* ``experiments/``: replications of several schedulers, on processes or a Dask cluster.
* ``theory/``: formulas of queueing theory. ``known/``: systems whose means they give, simulated.
* ``run``, ``engines``, ``sizes``: one run, the choice of the engine, how long a run is.
"""
