"""The network story as plain data: for each load, three Gantt charts in milliseconds with their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.report.plain import number
from nona.simulation.records.run import MessageInterval, TaskInterval
from nona.simulation.statistics.intervals import Interval
from nona.system import System

LINK = "link"


def story_point(load: float, runs: Mapping[str, Any], system: System) -> dict[str, Any]:
    """One load: strategy → figures and blocks. ``runs`` are those of a study's story point."""
    return {"load": load, "runs": {name: _run(run, system) for name, run in runs.items()}}


def _run(run: Any, system: System) -> dict[str, Any]:
    mean: Interval = run.mean
    letters = server_letters(run.tasks, run.messages, system)
    return {
        "predicted_ms": None if run.predicted_s is None else 1e3 * run.predicted_s,
        "mean_ms": 1e3 * mean.mean,
        "half_ms": number(1e3 * mean.half_width),
        "jct_ms": 1e3 * run.jct_s,
        "servers": len(letters),
        "blocks": [
            *(_task(t, letters, system) for t in run.tasks),
            *(_message(m, letters, system) for m in run.messages),
        ],
    }


def server_letters(
    tasks: Sequence[TaskInterval], messages: Sequence[MessageInterval], system: System
) -> dict[int, str]:
    """Server → ``A``, ``B``, … in the order in which the job first uses them."""
    uses = [(t.start_s, int(system.executor_server[t.executor])) for t in tasks]
    uses += [(m.end_s, m.destination) for m in messages]
    order = dict.fromkeys(server for _, server in sorted(uses))
    return {server: chr(ord("A") + i) if i < 26 else str(i + 1) for i, server in enumerate(order)}


def _task(t: TaskInterval, letters: Mapping[int, str], system: System) -> dict[str, Any]:
    return {
        "lane": letters[int(system.executor_server[t.executor])],
        "what": "task",
        "label": system.queries[t.query].tasks.task_ids[t.task],
        "asked_ms": 1e3 * t.ready_s,
        "start_ms": 1e3 * t.start_s,
        "end_ms": 1e3 * t.end_s,
    }


def _message(m: MessageInterval, letters: Mapping[int, str], system: System) -> dict[str, Any]:
    return {
        "lane": LINK,
        "what": "message",
        "label": f"{letters[m.source]} to {letters[m.destination]}",
        "asked_ms": 1e3 * m.request_s,
        "start_ms": 1e3 * m.start_s,
        "end_ms": 1e3 * m.end_s,
    }


def story_headline(point: Mapping[str, Any]) -> str:
    """The finding of the charts of one load, from their figures.

    >>> run = lambda ms, servers: {"mean_ms": ms, "servers": servers}
    >>> point = {"load": 0.0, "runs": {"local": run(22, 1), "spread": run(32, 3), "nona": run(14, 2)}}
    >>> story_headline(point)
    'With an idle link, one server takes 22 ms, blind splitting 32 ms, link-aware splitting 14 ms.'
    """
    runs = point["runs"]
    local, spread, nona = (f"{runs[n]['mean_ms']:.3g} ms" for n in ("local", "spread", "nona"))
    link = (
        "an idle link"
        if point["load"] == 0
        else f"a link {100 * point['load']:.0f} % busy with other traffic"
    )
    start = f"With {link}, one server takes {local}, blind splitting {spread}"
    if runs["nona"]["servers"] == 1:
        return f"{start}: splitting no longer pays, and Nona keeps the query on one server."
    return f"{start}, link-aware splitting {nona}."
