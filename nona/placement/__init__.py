"""Placement: probabilities of configurations that minimise the mean JCT, with a certificate.

Where a thing lives:

* what is placed: ``shape`` (a sub-graph), ``configurations``, ``messages``, ``evaluate`` (how long
  one takes), ``interiors/`` (large sub-graphs: candidates, oracle, column generation, bounds),
  ``coarsening/`` (what stays together);
* what it waits for: ``queueing``, ``run_length`` and ``returns`` (visits), ``servers`` (executor
  classes), ``network/`` (several links), all of it together in ``model`` and ``objective``;
* how it is solved: ``problem``, ``parametric``, ``knapsack``, ``envelope`` (certified at a constant
  server wait), ``settle`` (the server wait follows), ``shares/`` (executor classes, memory),
  ``slo/`` (by sampled jobs), ``slsqp`` and ``exhaustive`` for comparison, ``fixed`` (local,
  spread), ``solve`` (the front door);
* what comes out: ``placement``, ``prediction`` (means, by formula), ``response/`` (completion times
  as a distribution).
"""
