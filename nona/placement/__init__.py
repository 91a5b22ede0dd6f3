"""Placement: probabilities of configurations that minimise the mean JCT, with a certificate.

Data flows one way, in the order of this list; no rooms import each other (``tests/test_layers.py``).
Start with ``solve``.

* ``result/``: what comes out: configurations with probabilities, a prediction, bounds.
* ``capacity/``: what fits and what is stable, whatever the placement: loads and memory by executor class.
* ``configurations/``: the labels of a configuration, the shape of a sub-graph, symmetry.
* ``spans/``: messages of a configuration, and its longest path at given waits.
* ``coarsening/``: tasks that stay together, because parting them cannot pay.
* ``enumeration/``: the configurations that are considered, of small and of large interiors.
* ``waits/``: queues at executors and links: run lengths, crossings, prices of load.
* ``formula/``: model, objective and prediction: the mean JCT by mean waits.
* ``fixed/``: local, spread and presets, for comparison and as starts.
* ``response/``: completion times as a distribution, by jobs that walk among random waits.
* ``program/``: the problem in arrays, at a constant server wait.
* ``solver/``: certified (``parametric``, ``several_links``), with a server wait that follows the placement
  (``descent``), and for comparison (``slsqp``, ``exhaustive``); all by name in ``registry``.
* ``interiors/``: search for configurations of large interiors, at the prices of a solution.
* ``shares/``: the best shares of the executor classes.
* ``certificate/``: bounds on every placement.
* ``sampled/``: the search by sampled completion times: the program's default.
* ``notes``, ``solve``, ``compile_searches``: sentences about a solution, the entry point of the formula's
  solver, and compilation before use.
"""
