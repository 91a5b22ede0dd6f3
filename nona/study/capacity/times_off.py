"""A study with all its modelled times at the lower or at the upper end of their intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nona.contraction.task_graph import TaskGraph
from nona.cost.costed import CostedGraph, OperatorCost
from nona.cost.uncertainty import SIGMA, interval
from nona.report.times_off import LEVEL, TAKEN
from nona.study.preparation import PreparedModel, Study

End = Callable[[tuple[float, float]], float]


def can_be_off(study: Study) -> bool:
    """Whether any operator's time has an interval: given and measured times are taken at their word."""
    return any(_is_modelled(c) for m in study.models for costed in m.costed for c in costed.costs)


def with_times_off(study: Study, end: End, level: float = LEVEL) -> Study:
    """The study in which every time is one ``end`` (``min`` or ``max``) of its interval.

    All errors are taken to have the same sign, as those of one cost model share their cause: that is the
    widest case. Rates, transfers, background and SLOs stay.
    """
    models = tuple(_off(m, end, level) for m in study.models)
    queries = tuple(replace(q, tasks=m.tasks) for q, m in zip(study.system.queries, models, strict=True))
    key = study.key and f"{study.key} {end.__name__} {level}"
    return replace(study, models=models, system=replace(study.system, queries=queries), key=key)


def _off(model: PreparedModel, end: End, level: float) -> PreparedModel:
    weights = [cost.weight_bytes for cost in model.costed[0].costs]
    times = [_times(costed, end, level) for costed in model.costed]
    return replace(model, tasks=TaskGraph.from_contracted(model.contracted, times, weights))


def _times(costed: CostedGraph, end: End, level: float) -> list[float]:
    return [
        end(interval(c.compute_s, c.provenance, level)) if _is_modelled(c) else c.compute_s
        for c in costed.costs
    ]


def _is_modelled(cost: OperatorCost) -> bool:
    return cost.provenance not in TAKEN and SIGMA[cost.provenance] > 0
