"""The cost of load on the link: mean JCT by formula, and the Overview's network story, which ships.

``python -m nona.study.link_load nona/study/data/network_story.json`` makes the story again.

By formula alone, and said to be that wherever it is shown: sampled jobs at every load take tens of seconds,
and near saturation their error is larger than the differences that are drawn.

The scenario is run as it is but for two numbers: the share of the link that others use, and few jobs.
At every load the formula predicts and the simulation runs all three placements, and one typical job of
each is kept with its task and message intervals.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nona import __version__
from nona.errors import PlacementError
from nona.placement.capacity import allowed_classes, default_shares
from nona.placement.fixed import local_placement, spread_placement
from nona.placement.shares import is_choice
from nona.placement.solve import solve
from nona.report.simulations.series import StoryRun, story_load
from nona.results.placement import CongestionCurve, CongestionPoint
from nona.results.simulation_charts import LINK_LOAD, STORY_SCENARIO, STRATEGIES, Story
from nona.scenario.file import load_scenario
from nona.scenario.schema import Scenario
from nona.scenario.values import NamedSpec
from nona.simulation.records import MessageInterval, Records, TaskInterval
from nona.simulation.summary import Measured
from nona.sources.lookup import Sources
from nona.sources.samples import scenario_path
from nona.statistics import NO_INTERVAL
from nona.study.preparation import Study, prepare
from nona.study.shipped import rounded
from nona.study.simulation import SimulationResult, place, predictions, simulate
from nona.study.sweep_numbers import with_value
from nona.system import Stream, System

Floats = NDArray[np.float64]
MOST = 0.98  # of the capacity; beyond, only waits are left
SAME = 1e-6  # relative: an optimum this near local splits nothing that counts
GAP = 1e-3  # of the placements along the curve: finer than the line is wide
TIME_S = 1.0  # at each load, where interiors are too large to list
DEFAULT_SIZE_BYTES = 1e6  # of a background message, where there is no background yet
Progress = Callable[[float], None]


def with_background(system: System, utilization: float) -> System:
    """The system with another background utilisation of the link, messages of the same size."""
    stream = system.background_network
    mean = stream.mean if stream.mean > 0 else DEFAULT_SIZE_BYTES
    rate = utilization * system.capacity / mean
    return replace(system, background_network=Stream(rate, mean, stream.scv))


def background_of(system: System) -> float:
    """The link's utilisation by background alone."""
    stream = system.background_network
    return stream.rate * stream.mean / system.capacity


def congestion_curve(system: System, points: int = 12, progress: Progress | None = None) -> CongestionCurve:
    """By formula its optimum at every load, local and spread, from the present background to saturation.

    The shares of the executor classes are chosen once, for the present background. Where splitting
    stops paying is then found by bisection between two loads.
    """
    now = background_of(system)
    loads = [now + (max(MOST, now) - now) * i / (points - 1) for i in range(points)] if now < MOST else [now]
    curve, shares = [], _shares(system)
    for i, load in enumerate(loads):
        curve.append(_point(system, load, shares))
        if progress is not None:
            progress((i + 1) / (len(loads) + 1))
    return CongestionCurve(points=tuple(curve), now=now, stops=_stops(system, curve, shares))


def _shares(system: System) -> Floats | None:
    """The shares of the placement at the present background, solved for if there is a choice."""
    try:
        if not is_choice(system, allowed_classes(system)):
            return default_shares(system)
        return solve(system, gap=GAP, time_s=TIME_S).class_shares
    except PlacementError:
        return None


def _point(system: System, load: float, shares: Floats | None) -> CongestionPoint:
    loaded = with_background(system, load)
    wanted = "uniform" if shares is None else shares
    return CongestionPoint(
        background=load,
        nona_s=_jct(lambda: solve(loaded, gap=GAP, shares=wanted, time_s=TIME_S).objective_s),
        local_s=_jct(lambda: local_placement(loaded).objective_s),
        spread_s=_jct(lambda: spread_placement(loaded).objective_s),
        kept_s=_jct(lambda: local_placement(loaded, shares).objective_s),
    )


def _jct(of: Callable[[], float]) -> float | None:
    try:
        return of()
    except PlacementError:
        return None


def _pays(point: CongestionPoint) -> bool:
    """Return whether nona's placement is better at a point than keeping every job on one executor."""
    if point.nona_s is None or point.kept_s is None:
        return False
    return point.nona_s < point.kept_s * (1 - SAME)


def _stops(system: System, points: Sequence[CongestionPoint], shares: Floats | None) -> float | None:
    last = max((i for i, p in enumerate(points) if _pays(p)), default=-1)
    if last < 0:
        return points[0].background
    if last == len(points) - 1:
        return None
    low, high = points[last].background, points[last + 1].background
    for _ in range(6):
        middle = (low + high) / 2
        low, high = (middle, high) if _pays(_point(system, middle, shares)) else (low, middle)
    return (low + high) / 2


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
        predicted = predictions(study, placement)
        runs = {name: _run(result, name, predicted[name]) for name in STRATEGIES}
        yield StoryPoint(load, runs, study.system)


def paying_limit(scenario: Scenario, sources: Sources = _NO_SOURCES, most: float = 0.99) -> float | None:
    """The link load above which the best placement by formula keeps every query on one server.

    ``None`` if splitting still pays at ``most``; 0 if it never does. Found by bisection: the waits grow
    with the load, so that splitting, once it has stopped paying, does not pay again.
    """
    low, high = 0.0, most
    if _story_pays(scenario, high, sources):
        return None
    if not _story_pays(scenario, low, sources):
        return 0.0
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if _story_pays(scenario, middle, sources) else (low, middle)
    return high


def _story_pays(scenario: Scenario, load: float, sources: Sources) -> bool:
    study = _at(scenario, load, sources)
    predicted = predictions(study, place(study))
    nona, local = predicted["nona"], predicted["local"]
    return nona is not None and (local is None or nona < local * (1 - _SAME))


def _at(scenario: Scenario, load: float, sources: Sources) -> Study:
    entries = tuple(NamedSpec(name=name) for name in STRATEGIES)
    changes = {"schedulers": entries, "objective": "formula"}  # the story is that of the formula
    return prepare(with_value(scenario, LINK_LOAD, load).model_copy(update=changes), sources)


def _run(result: SimulationResult, name: str, predicted_s: float | None) -> StoryRun:
    record = result.records[name][0]
    overloaded = result.summaries[name].result.overloaded
    mean = NO_INTERVAL if overloaded else Measured(result.records[name], ()).mean_jct()
    job, jct_s, arrival_s = _typical(record, mean.mean)
    timeline = record.timeline
    tasks = () if timeline is None else tuple(t for t in timeline.tasks if t.job == job)
    messages = () if timeline is None else tuple(m for m in timeline.messages if m.job == job)
    return StoryRun(
        predicted_s,
        mean,
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


LOADS = tuple(round(0.05 * i, 2) for i in range(20))
# One query a second, still one at a time: rarer ones only give others more messages to send in between.
RATE, JOBS, REPLICATIONS = "1/s", 100, 4


def overview_story(loads: Sequence[float] = LOADS, command: str = "") -> Story:
    """Run the slides' example at every load."""
    scenario = load_scenario(scenario_path(STORY_SCENARIO))
    changes: dict[str, float | str] = {
        "workload[0].rate": RATE,
        "simulation.jobs": JOBS,
        "simulation.replications": REPLICATIONS,
    }
    for path, value in changes.items():
        scenario = with_value(scenario, path, value)
    return Story(
        points=tuple(story_load(p.load, p.runs, p.system) for p in network_story(scenario, loads)),
        limit=paying_limit(scenario),
        jobs=JOBS * REPLICATIONS,
        command=command,
        version=__version__,
        seed=scenario.seed,
    )


def main(arguments: Sequence[str]) -> None:
    """Write the story to the file named."""
    (name,) = arguments
    story = overview_story(command=f"python -m nona.study.link_load {name}")
    Path(name).write_text(json.dumps(rounded(story.to_json())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
