"""The network story: for each load, three Gantt charts in milliseconds with their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.results.simulation.story import StoryBlock, StoryChart, StoryLoad
from nona.simulation.records.run import MessageInterval, TaskInterval
from nona.simulation.statistics.intervals import Interval
from nona.system import System

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
    letters = server_letters(run.tasks, run.messages, system)
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


def server_letters(
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
    """The finding of the charts of one load, from their figures."""
    local, spread, nona = (f"{runs[n].mean_ms:.3g} ms" for n in ("local", "spread", "nona"))
    link = "an idle link" if load == 0 else f"a link {100 * load:.0f} % busy with other traffic"
    start = f"With {link}, one server takes {local}, blind splitting {spread}"
    if runs["nona"].servers == 1:
        return f"{start}: splitting no longer pays, and Nona keeps the query on one server."
    return f"{start}, link-aware splitting {nona}."
