"""The placement problem linearised at a point: its server wait held, its change charged as a price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.formula.mean_jct import Value
from nona.placement.formula.model import Model
from nona.placement.program.problem import Group, Problem, build_problem, groups_of
from nona.placement.solver.certified import Certified
from nona.placement.spans.longest_paths import VISITS

Floats = NDArray[np.float64]
Table = list[list[Floats]]


@dataclass(frozen=True, eq=False)
class Priced:
    """The problem linearised at a point; ``server_wait_s`` (J,) of each query class."""

    groups: tuple[Group, ...]
    server_wait_s: Floats
    credit_s: float

    def problem(self, model: Model, *, relaxed: bool = False) -> Problem:
        """Its arrays; ``relaxed``: with columns for what the candidates leave out."""
        return build_problem(model, self.groups, self.server_wait_s, credit_s=self.credit_s, relaxed=relaxed)


@dataclass(frozen=True, eq=False)
class Solution:
    """A placement ``x``, its objective, and the certificate of the problem linearised there."""

    x: Table
    value_s: float
    priced: Priced
    certified: Certified


def price(model: Model, x: Sequence[Sequence[Floats]], value: Value) -> Priced:
    """Linearise the server wait at ``x``."""
    prices = model.server_wait_gradient(x, model.weights * value.terms[:, VISITS])
    credit = sum(
        float(p @ s) for row, xs in zip(prices, x, strict=True) for (s, _), p in zip(row, xs, strict=True)
    )
    return Priced(groups_of(model, prices), value.server_wait_s, credit)
