"""Compile the searches of large interiors before anybody waits for them."""

from __future__ import annotations

import numpy as np

from nona.placement.certificate.relaxed_columns import least_columns
from nona.placement.configurations.shape import Shape
from nona.placement.interiors.budget import Budget
from nona.placement.interiors.cheapest import cheapest_configuration
from nona.placement.interiors.column_generation import climbed
from nona.placement.interiors.prices import Prices
from nona.placement.spans.candidates import Candidates
from nona.placement.spans.messages import Link


def compile_searches() -> None:
    """Run each search once on a fork of two tasks; numba keeps what it compiles on disk."""
    ends = np.array([0, 0, 1, 2], dtype=np.int64), np.array([1, 2, 3, 3], dtype=np.int64)
    shape = Shape(True, True, np.ones((1, 2)), np.ones(2), *ends, np.arange(4), np.ones(4))
    link, prices = Link(10.0, 0.0), Prices()
    cheapest_configuration(shape, link, 2, prices)
    candidates = Candidates(shape, np.array([[0, 0, 0], [0, 1, 0]]), link, exhaustive=False)
    climbed(candidates, 2, prices, Budget(1.0))
    least_columns(candidates, 2, prices)
