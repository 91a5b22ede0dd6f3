"""Sweep one number of a scenario: prediction and simulation at every value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from nona.placement.result.placement import Placement
from nona.scenario.schema import Scenario
from nona.scenario.values import SchedulerSpec
from nona.simulation.statistics.summary import SchedulerSummary
from nona.sources.lookup import Sources
from nona.study.preparation import Study, prepare
from nona.study.simulating.run import place, simulate, steady_local, steady_spread
from nona.study.sweeps.numbers import with_value

_PREDICTED: dict[str, Callable[[Study], Placement | None]] = {
    "nona": place,
    "local": steady_local,
    "spread": steady_spread,
}
PREDICTED = tuple(_PREDICTED)
_NO_SOURCES = Sources()


@dataclass(frozen=True, eq=False)
class SweptPoint:
    """One scheduler at one value of the swept number.

    ``predicted_s`` and ``link_utilization`` are ``None`` where queueing theory has no steady state;
    ``summary`` holds the simulation.
    """

    value: float
    scheduler: str
    predicted_s: float | None
    link_utilization: float | None
    summary: SchedulerSummary

    @property
    def error(self) -> float | None:
        """(predicted − simulated) / simulated mean JCT; ``None`` without both."""
        mean = self.summary.jct.mean.mean
        if self.predicted_s is None or mean != mean:
            return None
        return (self.predicted_s - mean) / mean


def sweep(
    scenario: Scenario,
    path: str,
    values: Sequence[float],
    schedulers: Sequence[str] = PREDICTED,
    sources: Sources = _NO_SOURCES,
    workers: int = 1,
    dask: str | None = None,
) -> Iterator[SweptPoint]:
    """Set the key at ``path`` to each of ``values``; predict and simulate each scheduler there.

    Schedulers that queueing theory has no prediction for are simulated only; ``workers`` and ``dask`` say
    where, as for :func:`~nona.study.simulating.run.simulate`.
    """
    own = {s.name: s for s in scenario.schedulers}
    entries = tuple(own.get(name, SchedulerSpec(name=name)) for name in schedulers)
    for value in values:
        study = prepare(with_value(scenario, path, value).model_copy(update={"schedulers": entries}), sources)
        placements = {name: _PREDICTED[name](study) for name in schedulers if name in _PREDICTED}
        result = simulate(study, placement=placements.get("nona"), workers=workers, dask=dask)
        for name in schedulers:
            placed = placements.get(name)
            p = placed.prediction if placed else None
            yield SweptPoint(
                value,
                name,
                p.jct_s if p else None,
                p.network_utilization if p else None,
                result.summaries[name],
            )
