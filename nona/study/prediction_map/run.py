"""The study itself: every point, on one process or several."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass

from nona import __version__
from nona.errors import SimulationError
from nona.experiments.pieces import run_pieces
from nona.experiments.pool import Key
from nona.results.studies.prediction_map import MapAbout, MapPoint, PredictionMap
from nona.study.prediction_map.measure import measure
from nona.study.prediction_map.points import LOADS, names_of, point
from nona.study.prediction_map.systems import SYSTEMS, map_system
from nona.study.provenance import now_text
from nona.study.shipped import rounded_result

_DIGITS = 5


@dataclass(frozen=True, slots=True)
class MapSettings:
    """Size of the study: ``replications`` runs of about ``tasks`` tasks at each point of ``scenarios``.

    ``seed``: those of the scenarios where it is ``None``.
    """

    tasks: int = 400_000
    replications: int = 5
    seed: int | None = None
    scenarios: tuple[str, ...] = SYSTEMS

    def __post_init__(self) -> None:
        for name, value, least in (("tasks", self.tasks, 1000), ("replications", self.replications, 2)):
            if value < least:
                raise SimulationError(
                    f"Study: {name}={value} must be at least {least}; give a larger number."
                )
        for name in self.scenarios:
            if name not in SYSTEMS:
                raise SimulationError(f"Study: {name!r} is not on the map; choose from {', '.join(SYSTEMS)}.")


@dataclass(frozen=True, slots=True)
class MapPoints:
    """What every process gets once: the names of the points, and the size of the study."""

    names: tuple[tuple[str, str, str], ...]
    size: MapSettings
    engine: str
    reporting: bool = True

    def run(self, key: Key, on_progress: Callable[[str], None] | None) -> MapPoint:
        """The results of one point."""
        names = name, placement, load = self.names[key[0]]
        system, placed = point(map_system(name, self.size.seed), placement, LOADS[load])
        size = self.size
        found = measure(
            names,
            system,
            placed,
            tasks=size.tasks,
            replications=size.replications,
            engine=self.engine,
        )
        if on_progress is not None:
            on_progress(f"{name}, {placement}, {load}")
        return found


def map_study(
    settings: MapSettings | None = None,
    *,
    engine: str = "auto",
    workers: int = 1,
    on_progress: Callable[[float, str], None] = lambda fraction, text: None,
) -> PredictionMap:
    """Run the study; numbers are rounded to five significant digits.

    ``workers`` are processes, on whose number results do not depend; what ``on_progress`` raises ends the
    work.
    """
    size = settings or MapSettings()
    begin, names = time.perf_counter(), []
    for name in size.scenarios:
        queries = map_system(name, size.seed).queries
        split = any(s.interior for q in queries for s in q.decomposition.subgraphs)
        names += [(name, placement, load) for placement, load in names_of(name, split)]
    rows = run_pieces(
        MapPoints(tuple(names), size, engine),
        len(names),
        workers,
        lambda done, text: on_progress(done / len(names), text),
    )
    about = MapAbout(
        command=_command(size),
        version=__version__,
        made=now_text(),
        tasks=size.tasks,
        replications=size.replications,
        seed=size.seed,
        seconds=time.perf_counter() - begin,
    )
    return rounded_result(PredictionMap(about=about, points=tuple(rows)), _DIGITS)


def _command(size: MapSettings) -> str:
    words = ["nona", "study", "prediction", "--tasks", str(size.tasks)]
    words += ["--replications", str(size.replications)]
    words += ["--seed", str(size.seed)] if size.seed is not None else []
    for name in size.scenarios if size.scenarios != SYSTEMS else ():
        words += ["--scenario", name]
    return shlex.join([*words, "--json"])
