"""The study itself: the choice of cells, their runs, and the result with its provenance."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nona import __version__
from nona.errors import SimulationError
from nona.experiments.pieces import run_pieces
from nona.results.studies.decisions import DecisionAbout, DecisionStudy
from nona.schedulers.registry import scheduler_names
from nona.study.decisions.cells import LINKS, all_cells, fraction, loads_only
from nona.study.decisions.measure import AWARE, BLIND, Size
from nona.study.decisions.tasks import Cells, Task
from nona.study.decisions.workloads import GPU, SERVERS, distributes, facts, workload_table
from nona.study.provenance import now_text
from nona.study.shipped import rounded_result

DIGITS = 5
TWINS = frozenset(  # another network of the same family is run
    {"encoder_decoder_12", "mixture_16", "ensemble_8", "retrieval_8", "two_tower_16", "diffusion_20"}
)
FEWEST = 2  # runs of a round: below it no interval


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """The choice of cells: ``networks`` (empty: all) at ``links`` (Gbit/s), 12 cells each or ``full`` 48.

    ``jobs`` of a run: so many that all cells have about as many events where it is ``None``.
    ``replications``: runs of a round, of which there are several where schedulers are close, ``most`` runs
    in all.
    """

    networks: tuple[str, ...] = ()
    links: tuple[float, ...] = LINKS
    full: bool = False
    jobs: int | None = None
    replications: int = 5
    most: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, least in (("jobs", self.jobs, 100), ("replications", self.replications, FEWEST)):
            if value is not None and value < least:
                raise SimulationError(
                    f"Study: {name}={value} must be at least {least}; give a larger number."
                )
        for network in self.networks:
            if network not in workload_table():
                raise SimulationError(
                    f"Study: network {network!r} is unknown; choose from {', '.join(workload_table())}."
                )
        for link in self.links:
            if link not in LINKS:
                names = ", ".join(f"{known:g}" for known in LINKS)
                raise SimulationError(f"Study: link={link:g} Gbit/s is not part of it; choose from {names}.")


@dataclass(frozen=True, slots=True)
class DecisionProgress:
    """The progress of the study, and the network of the last completed cell."""

    text: str
    fraction: float


def decisions_study(
    settings: DecisionSettings | None = None,
    *,
    engine: str = "compiled",
    workers: int = 1,
    on_progress: Callable[[DecisionProgress], None] = lambda progress: None,
) -> DecisionStudy:
    """Run the study; numbers are rounded to :data:`DIGITS` significant digits.

    Parameters
    ----------
    workers
        Processes; but for the seconds, results do not depend on it.
    on_progress
        Called as cells are done; what it raises ends the work and comes out.
    """
    chosen, begin = settings or DecisionSettings(), time.perf_counter()
    tasks = planned(chosen)
    size = Size(jobs=chosen.jobs, replications=chosen.replications, most=chosen.most, engine=engine)

    def heard(done: int, name: str) -> None:
        on_progress(DecisionProgress(f"{done} of {len(tasks)} cells, {name}", done / len(tasks)))

    rows = run_pieces(Cells(tuple(tasks), size, chosen.seed), len(tasks), workers, heard)
    names = dict.fromkeys(name for name, _ in tasks)
    about = _about(chosen, size, workers, time.perf_counter() - begin)
    networks = {name: facts(workload_table()[name]) for name in names}
    return rounded_result(DecisionStudy(about=about, networks=networks, cells=tuple(rows)), DIGITS)


def planned(settings: DecisionSettings) -> list[Task]:
    """The cells of the study, network by network; twins only where they are named, or all cells are run.

    The part of a network's cells that is run depends on its place among all, not on which are chosen.
    """
    split = {name: distributes(workload) for name, workload in workload_table().items()}
    numbers = {name: n for n, name in enumerate(name for name, can in split.items() if can)}
    tasks: list[Task] = []
    usual = tuple(name for name in split if settings.full or name not in TWINS)
    for name in settings.networks or usual:
        if not split[name]:
            tasks += [(name, cell) for cell in loads_only()]
            continue
        cells = all_cells() if settings.full else fraction(numbers[name])
        tasks += [(name, cell) for cell in cells if cell.link in settings.links]
    return tasks


def _about(settings: DecisionSettings, size: Size, workers: int, seconds: float) -> DecisionAbout:
    return DecisionAbout(
        study="decisions",
        command=_command(settings),
        version=__version__,
        date=now_text(),
        seed=settings.seed,
        cluster=f"{SERVERS} {GPU}",
        cells="all 48" if settings.full else "12 of 48, in turn by network",
        events=size.events if size.jobs is None else None,
        jobs=size.jobs,
        replications=size.replications,
        most=max(size.most, size.replications),
        schedulers=tuple(n for n in (*BLIND, *AWARE) if n in scheduler_names()),
        workers=workers,
        seconds=seconds,
    )


def _command(settings: DecisionSettings) -> str:
    usual = DecisionSettings()
    words: Sequence[str] = [
        *(w for name in settings.networks for w in ("--network", name)),
        *(w for link in settings.links for w in ("--link", f"{link:g}") if settings.links != LINKS),
        *(["--full"] if settings.full else []),
        *(["--jobs", str(settings.jobs)] if settings.jobs is not None else []),
        *(
            ["--replications", str(settings.replications)]
            if settings.replications != usual.replications
            else []
        ),
        *(["--most", str(settings.most)] if settings.most != usual.most else []),
        *(["--seed", str(settings.seed)] if settings.seed != usual.seed else []),
    ]
    return shlex.join(["nona", "study", "decisions", "--json", *words])
