"""Compile ESG's searches before a run needs them."""

from __future__ import annotations

import numpy as np

from nona.serverless.policies.esg.search import VARIANTS, GroupSearch


def compile_searches() -> None:
    """Run each form of the search once on two functions; numba keeps what it compiles on disk."""
    time, cost = np.array([[2.0, 1.0], [2.0, 1.0]]), np.array([[1.0, 2.0], [1.0, 2.0]])
    group = GroupSearch(time, cost)
    for variant in VARIANTS:
        group.search(3.0, 1, variant)
