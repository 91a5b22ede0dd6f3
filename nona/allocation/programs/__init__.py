"""Linear programs over the allocations of a training cluster, their solvers, and certificates by duality.

``polytope.py`` has the allocations F, ``pairs.py`` which pairs of jobs get a row, ``program.py`` what is
maximised over F and what a bound is; ``highs.py`` gives a vertex of the optimal
face; ``solve.py`` chooses.
"""
