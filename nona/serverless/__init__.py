"""Serverless workflows on shareable GPUs: functions that are batched, sized and dispatched to keep an SLO.

* ``model/``: configurations, functions (times by law or by table), applications, calls, the system in arrays.
* ``sharing/``: what a way of sharing a GPU (:mod:`nona.gpu_sharing`) means for the system's times.
* ``policies/``: how a batch is configured; ``base`` says what a policy is, ``esg/`` is ESG's search.
* ``dispatch/``: where a batch runs: OpenWhisk's home invoker, the fallbacks, containers.
* ``engine/``: the simulator. ``records/``: what a run leaves behind, its checks and its metrics.
* ``oracle``: a bound on the cost of every policy. ``replications``: many runs. ``provenance``: the source of
  every default.
"""
