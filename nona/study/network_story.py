"""One query placed in three ways under background load: up to which link load does splitting pay?

The scenario is run as it is but for two numbers: the share of the link that others use, and few jobs.
At every load the formula predicts and the simulation runs all three placements, and one typical job of
each is kept with its task and message intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nona.report.simulations.network_story import StoryRun
from nona.scenario.schema import Scenario
from nona.scenario.values import SchedulerSpec
from nona.simulation.records.run import MessageInterval, Records, TaskInterval
from nona.sources.lookup import Sources
from nona.study.preparation import Study, prepare
from nona.study.simulating.run import SimulationResult, place, predictions, simulate
from nona.study.sweeps.numbers import with_value
from nona.system import System

STRATEGIES = ("local", "spread", "nona")
LINK_LOAD = "background.network.utilization"
_TOLERANCE = 1e-3  # of the link load, to which the edge is found
_SAME = 1e-9  # placements whose predicted times differ by less, relatively, are the same
_NO_SOURCES = Sources()


@dataclass(frozen=True, eq=False)
class StoryPoint:
    """All strategies with the share ``load`` of the link taken by others."""

    load: float
    runs: Mapping[str, StoryRun]
    system: System


def network_story(
    scenario: Scenario,
    loads: Sequence[float],
    *,
    engine: str = "auto",
    sources: Sources = _NO_SOURCES,
    check: Callable[[], None] = lambda: None,
) -> Iterator[StoryPoint]:
    """Predict and simulate local, spread and nona at each of ``loads``, in that order."""
    for load in loads:
        check()
        study = _at(scenario, load, sources)
        placement = place(study)
        result = simulate(
            study, engine=engine, placement=placement, timeline_jobs=study.scenario.simulation.jobs
        )
        told = predictions(study, placement)
        runs = {name: _run(result, name, told[name]) for name in STRATEGIES}
        yield StoryPoint(load, runs, study.system)


def paying_limit(scenario: Scenario, sources: Sources = _NO_SOURCES, most: float = 0.99) -> float | None:
    """The link load above which the best placement by formula keeps every query on one server.

    ``None`` if splitting still pays at ``most``; 0 if it never does. Found by bisection: the waits grow
    with the load, so that splitting, once it has stopped paying, does not pay again.
    """
    low, high = 0.0, most
    if _pays(scenario, high, sources):
        return None
    if not _pays(scenario, low, sources):
        return 0.0
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if _pays(scenario, middle, sources) else (low, middle)
    return high


def _pays(scenario: Scenario, load: float, sources: Sources) -> bool:
    study = _at(scenario, load, sources)
    told = predictions(study, place(study))
    nona, local = told["nona"], told["local"]
    return nona is not None and (local is None or nona < local * (1 - _SAME))


def _at(scenario: Scenario, load: float, sources: Sources) -> Study:
    entries = tuple(SchedulerSpec(name=name) for name in STRATEGIES)
    changes = {"schedulers": entries, "objective": "formula"}  # the story is that of the formula
    return prepare(with_value(scenario, LINK_LOAD, load).model_copy(update=changes), sources)


def _run(result: SimulationResult, name: str, predicted_s: float | None) -> StoryRun:
    record = result.records[name][0]
    job, jct_s, arrival_s = _typical(record, result.summaries[name].jct.mean.mean)
    timeline = record.timeline
    tasks = () if timeline is None else tuple(t for t in timeline.tasks if t.job == job)
    messages = () if timeline is None else tuple(m for m in timeline.messages if m.job == job)
    return StoryRun(
        predicted_s,
        result.summaries[name].jct.mean,
        jct_s,
        tuple(_task_from(t, arrival_s) for t in tasks),
        tuple(_message_from(m, arrival_s) for m in messages),
    )


def _typical(record: Records, mean_s: float) -> tuple[int, float, float]:
    """Number, JCT and arrival of the job whose JCT is nearest to the mean, the earliest of equals."""
    jct = record.completion_time_s
    index = int(np.nanargmin(np.abs(jct - mean_s)))
    first = min((t.job for t in record.timeline.tasks), default=0) if record.timeline else 0
    return first + index, float(jct[index]), float(record.arrival_s[index])


def _task_from(t: TaskInterval, zero_s: float) -> TaskInterval:
    times = (t.ready_s - zero_s, t.start_s - zero_s, t.end_s - zero_s)
    return TaskInterval(t.job, t.query, t.task, t.executor, *times)


def _message_from(m: MessageInterval, zero_s: float) -> MessageInterval:
    times = (m.request_s - zero_s, m.start_s - zero_s, m.end_s - zero_s, m.delivered_s - zero_s)
    return MessageInterval(m.job, m.query, m.tensor, m.source, m.destination, *times)
