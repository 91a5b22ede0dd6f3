"""The Overview's network story, which ships: the slides' example under three placements at every link load.

``python -m evidence.network_story nona/queries/workflows/data/network_story.json`` makes the story again.

The scenario is run as it is but for two numbers: the share of the link that others use, and few jobs.
At every load the formula predicts and the simulation runs all three placements, and one typical job of
each is kept with its task and message intervals.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evidence.provenance import rounded
from nona import __version__
from nona.core.count_search import edge, run_search
from nona.core.experiments import do_nothing
from nona.core.statistics import NO_INTERVAL, Interval
from nona.core.units import format_number
from nona.queries.chart_data import (
    LINK_LOAD,
    STORY_SCENARIO,
    STRATEGIES,
    LinkLoadExample,
    StoryBlock,
    StoryChart,
    StoryLoad,
)
from nona.queries.simulation.records import MessageInterval, Records, TaskInterval
from nona.queries.simulation.summary import MeasuredJobs
from nona.queries.sweeps.numbers import with_value
from nona.queries.system import System
from nona.queries.workflows.placements import place, predictions
from nona.queries.workflows.preparation import PreparedSystem, prepare
from nona.queries.workflows.simulation import SimulationResult, simulate
from nona.scenario.file import load_scenario
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import scenario_path
from nona.scenario.schema import Scenario
from nona.scenario.values import NamedSpec

_TOLERANCE = 1e-3  # of the link load, to which the edge is found
_SAME = 1e-9  # placements whose predicted times differ by less, relatively, are the same
_NO_SOURCES = Sources()
LINK = "link"


@dataclass(frozen=True, eq=False)
class StoryRun:
    """One strategy at one load: predicted and simulated mean JCT (s), and one job near the mean.

    ``predicted_s`` is ``None`` without a steady state; ``jct_s`` is that of the typical job, and times
    of its intervals count from its arrival.
    """

    predicted_s: float | None
    mean: Interval
    jct_s: float
    tasks: tuple[TaskInterval, ...]
    messages: tuple[MessageInterval, ...]


def story_load(load: float, runs: Mapping[str, StoryRun], system: System) -> StoryLoad:
    """One load: strategy → figures and blocks, and the finding."""
    charts = {name: _chart(run, system) for name, run in runs.items()}
    return StoryLoad(load=load, runs=charts, headline=_headline(load, charts))


def _chart(run: StoryRun, system: System) -> StoryChart:
    letters = _server_letters(run.tasks, run.messages, system)
    return StoryChart(
        predicted_ms=None if run.predicted_s is None else 1e3 * run.predicted_s,
        mean_ms=1e3 * run.mean.mean,
        half_ms=1e3 * run.mean.half_width,
        jct_ms=1e3 * run.jct_s,
        servers=len(letters),
        blocks=(
            *(_task(t, letters, system) for t in run.tasks),
            *(_message(m, letters) for m in run.messages),
        ),
    )


def _server_letters(
    tasks: Sequence[TaskInterval], messages: Sequence[MessageInterval], system: System
) -> dict[int, str]:
    """Server → ``A``, ``B``, … in the order in which the job first uses them."""
    uses = [(t.start_s, int(system.executor_server[t.executor])) for t in tasks]
    uses += [(m.end_s, m.destination) for m in messages]
    order = dict.fromkeys(server for _, server in sorted(uses))
    return {server: chr(ord("A") + i) if i < 26 else str(i + 1) for i, server in enumerate(order)}


def _task(t: TaskInterval, letters: Mapping[int, str], system: System) -> StoryBlock:
    return StoryBlock(
        lane=letters[int(system.executor_server[t.executor])],
        what="task",
        label=system.queries[t.query].tasks.task_ids[t.task],
        asked_ms=1e3 * t.ready_s,
        start_ms=1e3 * t.start_s,
        end_ms=1e3 * t.end_s,
    )


def _message(m: MessageInterval, letters: Mapping[int, str]) -> StoryBlock:
    return StoryBlock(
        lane=LINK,
        what="message",
        label=f"{letters[m.source]} to {letters[m.destination]}",
        asked_ms=1e3 * m.request_s,
        start_ms=1e3 * m.start_s,
        end_ms=1e3 * m.end_s,
    )


def _headline(load: float, runs: Mapping[str, StoryChart]) -> str:
    local, spread, nona = (f"{format_number(runs[n].mean_ms)} ms" for n in ("local", "spread", "nona"))
    link = "an idle link" if load == 0 else f"a link {100 * load:.0f} % busy with other traffic"
    start = f"With {link}, one server takes {local}, blind splitting {spread}"
    if runs["nona"].servers == 1:
        return f"{start}: splitting no longer pays, and Nona keeps the query on one server."
    return f"{start}, link-aware splitting {nona}."


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
    check: Callable[[], None] = do_nothing,
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
    """Return the link load above which the best placement by formula keeps every query on one server.

    ``None`` if splitting still pays at ``most``; 0 if it never does. Found by bisection: the waits grow
    with the load, so that splitting, once it has stopped paying, does not pay again.
    """
    low, high = 0.0, most
    if _story_pays(scenario, high, sources):
        return None
    if not _story_pays(scenario, low, sources):
        return 0.0

    def between(low: float, high: float) -> float | None:
        return (low + high) / 2 if high - low > _TOLERANCE else None

    limit, _ = run_search(edge(high, low, between), lambda load: not _story_pays(scenario, load, sources))
    return limit


def _story_pays(scenario: Scenario, load: float, sources: Sources) -> bool:
    study = _at(scenario, load, sources)
    predicted = predictions(study, place(study))
    nona, local = predicted["nona"], predicted["local"]
    return nona is not None and (local is None or nona < local * (1 - _SAME))


def _at(scenario: Scenario, load: float, sources: Sources) -> PreparedSystem:
    entries = tuple(NamedSpec(name=name) for name in STRATEGIES)
    changes = {"schedulers": entries, "objective": "formula"}  # the story is that of the formula
    return prepare(with_value(scenario, LINK_LOAD, load).model_copy(update=changes), sources)


def _run(result: SimulationResult, name: str, predicted_s: float | None) -> StoryRun:
    record = result.records[name][0]
    overloaded = result.summaries[name].result.overloaded
    mean = NO_INTERVAL if overloaded else MeasuredJobs(result.records[name], ()).mean_jct()
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
    """Return number, JCT and arrival of the job whose JCT is nearest to the mean, the earliest of equals."""
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


def overview_story(loads: Sequence[float] = LOADS, command: str = "") -> LinkLoadExample:
    """Run the slides' example at every load."""
    scenario = load_scenario(scenario_path(STORY_SCENARIO))
    changes: dict[str, float | str] = {
        "workload[0].rate": RATE,
        "simulation.jobs": JOBS,
        "simulation.replications": REPLICATIONS,
    }
    for path, value in changes.items():
        scenario = with_value(scenario, path, value)
    return LinkLoadExample(
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
    story = overview_story(command=f"python -m evidence.network_story {name}")
    Path(name).write_text(json.dumps(rounded(story.to_json())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
