"""Where a search by sampled jobs starts: the formula's optimum, the presets, and mixtures.

The formula takes mean waits and is optimistic wherever a path crosses many joins; keeping a query whole is
what it is worst at seeing. So every placement that a person would try by hand is a start, and a mixture takes
for each query class the start that serves that class best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nona.placement.fixed.presets import PRESETS, idle_presets, place_fixed
from nona.placement.result.configuration import Configuration, Queries, SubGraphPlacement
from nona.placement.sampled.judge import rows
from nona.system import System


def starts(system: System, optimum: Queries) -> dict[str, Queries]:
    """Named placements, equal ones once: the formula's ``optimum``, presets, the expert's, and a mixture.

    ``expert`` is for each class the preset that is quickest on an idle cluster; ``half local`` follows the
    optimum for half of the jobs and keeps the others whole.
    """
    named: dict[str, Queries] = {"formula": optimum}
    for name in PRESETS:
        named[name] = rows([place_fixed(system, q, name) for q in system.queries])
    idle = idle_presets(system)
    named["expert"] = rows([place_fixed(system, q, p) for q, p in zip(system.queries, idle, strict=True)])
    named["half local"] = blend(optimum, named["local"], 0.5)
    found: dict[str, Queries] = {}
    for name, queries in named.items():
        if not any(same(queries, other) for other in found.values()):
            found[name] = queries
    return found


def best_of_each(named: Mapping[str, Queries], values: Mapping[str, Sequence[float | None]]) -> Queries:
    """For each query class the start that serves it best; the first of equals.

    ``values[name][j]`` is what class j has under that start, ``None`` where the class does not count.
    """
    names = list(values)
    classes = range(len(values[names[0]]))
    best = [min(names, key=lambda n: _number(values[n][j])) for j in classes]
    return rows([named[name][j] for j, name in enumerate(best)])


def _number(value: float | None) -> float:
    return 0.0 if value is None else value


def blend(first: Queries, second: Queries, share: float) -> Queries:
    """Each sub-graph placed as in ``second`` with probability ``share``, else as in ``first``."""
    return tuple(
        tuple(mixed(a, b, share) for a, b in zip(row, other, strict=True))
        for row, other in zip(first, second, strict=True)
    )


def mixed(a: SubGraphPlacement, b: SubGraphPlacement, share: float) -> SubGraphPlacement:
    """One sub-graph placed as ``b`` says with probability ``share``, else as ``a``."""
    chances: dict[Configuration, float] = {}
    for placed, weight in ((a, 1.0 - share), (b, share)):
        for c, p in zip(placed.configurations, placed.probabilities.tolist(), strict=True):
            chances[c] = chances.get(c, 0.0) + weight * p
    kept = {c: p for c, p in chances.items() if p > 0}
    return SubGraphPlacement(a.subgraph, tuple(kept), np.array(list(kept.values())))


def same(a: Queries, b: Queries) -> bool:
    """Whether two placements give every configuration the same probability."""
    return all(
        dict(zip(p.configurations, p.probabilities.tolist(), strict=True))
        == dict(zip(q.configurations, q.probabilities.tolist(), strict=True))
        for row, other in zip(a, b, strict=True)
        for p, q in zip(row, other, strict=True)
    )
