"""The study itself: every point in turn, with its progress; at the end plain data."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from nona import __version__
from nona.errors import SimulationError
from nona.report.plain import plain
from nona.samples import scenario_path
from nona.scenario_file import load_scenario
from nona.study.numbers import with_value
from nona.study.prediction_map.measure import measure
from nona.study.prediction_map.points import LOADS, SCENARIOS, names_of, point
from nona.study.preparation import prepare
from nona.system import System

_DIGITS = 5


@dataclass(frozen=True, slots=True)
class MapSettings:
    """Size of the study: ``replications`` runs of about ``tasks`` tasks at each point of ``scenarios``.

    ``seed``: those of the scenarios where it is ``None``.
    """

    tasks: int = 400_000
    replications: int = 5
    seed: int | None = None
    scenarios: tuple[str, ...] = SCENARIOS

    def __post_init__(self) -> None:
        for name, value, least in (("tasks", self.tasks, 1000), ("replications", self.replications, 2)):
            if value < least:
                raise SimulationError(
                    f"Study: {name}={value} must be at least {least}; give a larger number."
                )
        for name in self.scenarios:
            if name not in SCENARIOS:
                raise SimulationError(
                    f"Study: scenario {name!r} is not on the map; choose from {', '.join(SCENARIOS)}."
                )


@dataclass(frozen=True, slots=True)
class MapProgress:
    """How far the study is; ``data`` is the result, there with ``fraction`` 1 only."""

    text: str
    fraction: float
    data: Mapping[str, Any] | None = None


def shipped_system(name: str, seed: int | None = None) -> System:
    """The system of a shipped scenario."""
    scenario = load_scenario(scenario_path(name))
    return prepare(scenario if seed is None else with_value(scenario, "seed", seed)).system


def map_study(
    settings: MapSettings | None = None,
    *,
    engine: str = "auto",
    check: Callable[[], None] = lambda: None,
) -> Iterator[MapProgress]:
    """Run the study; the last progress holds its data: ``points`` (rows) and ``about`` (provenance)."""
    size = settings or MapSettings()
    begin, rows = time.perf_counter(), []
    systems = {name: shipped_system(name, size.seed) for name in size.scenarios}
    names = [
        (scenario, placement, load)
        for scenario, system in systems.items()
        for placement, load in names_of(
            any(s.interior for q in system.queries for s in q.decomposition.subgraphs)
        )
    ]
    for done, (scenario, placement, load) in enumerate(names):
        check()
        yield MapProgress(f"{scenario}, {placement}, {load}", done / len(names))
        system, placed = point(systems[scenario], placement, LOADS[load])
        found = measure(system, placed, tasks=size.tasks, replications=size.replications, engine=engine)
        rows.append({"scenario": scenario, "placement": placement, "load": load} | found)
    about = {
        "command": _command(size),
        "version": __version__,
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "tasks": size.tasks,
        "replications": size.replications,
        "seed": size.seed,
        "seconds": time.perf_counter() - begin,
    }
    yield MapProgress("done", 1.0, rounded({"about": about, "points": rows}))


def _command(size: MapSettings) -> str:
    words = ["nona", "study", "prediction", "--tasks", str(size.tasks)]
    words += ["--replications", str(size.replications)]
    words += ["--seed", str(size.seed)] if size.seed is not None else []
    for name in size.scenarios if size.scenarios != SCENARIOS else ():
        words += ["--scenario", name]
    return shlex.join([*words, "--json"])


def rounded(value: Any) -> Any:
    """Plain data, numbers to five significant digits: what a file keeps.

    >>> rounded({"a": [1 / 3, 2, float("inf")]})
    {'a': [0.33333, 2, None]}
    """
    if isinstance(value, Mapping):
        return {str(k): rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    if isinstance(value, float):
        kept = plain(value)
        return kept if kept is None else float(f"{kept:.{_DIGITS}g}")
    return value
