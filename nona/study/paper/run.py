"""The study itself: two sweeps to the edges of stability, then points just before and beyond them."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from nona import __version__
from nona.errors import SimulationError
from nona.report.sweeps.report import sweep_report
from nona.results.studies.paper import Overload, PaperStudy
from nona.results.sweep import SweepReport
from nona.scenario.file import load_scenario
from nona.scenario.schema import Scenario
from nona.scenario.values import SchedulerSpec
from nona.schedulers.registry import get_scheduler, scheduler_names
from nona.sources.lookup import Sources
from nona.sources.samples import scenario_path
from nona.study.paper.overload import OVERLOAD, growth
from nona.study.paper.reach import reach
from nona.study.provenance import now_text
from nona.study.shipped import rounded_result
from nona.study.sweeps.curves import curves
from nona.study.sweeps.numbers import COMPUTE, LINK, number_named, with_value
from nona.study.sweeps.settings import SweepSettings

SCENARIO = "five_models_80_servers"
ROUND_S = 0.1  # schedulers that decide in rounds: of the usual second there would be one or two in a run
CLAIM = 350.0  # "outperforms state-of-the-art schedulers by up to 350x", abstract of the paper
SWEEPS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "traffic": (LINK, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)),
    "compute": (COMPUTE, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.79, 0.82)),
}
# How far the work is when each part begins, measured on one core.
_BEGIN = {"traffic": 0.0, "compute": 0.45, "overload": 0.85}


@dataclass(frozen=True, slots=True)
class PaperSettings:
    """Size of the study: ``replications`` runs of ``jobs`` at each point.

    ``lengths``: jobs of the runs in overload. ``values`` replaces the swept values of a sweep by name,
    for a quick look. ``seed``: the scenario's where it is ``None``.
    """

    jobs: int = 6000
    replications: int = 8
    seed: int | None = None
    lengths: tuple[int, ...] = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    values: Mapping[str, tuple[float, ...]] | None = None

    def __post_init__(self) -> None:
        for name, value in (("jobs", self.jobs), ("replications", self.replications)):
            if value < 1:
                raise SimulationError(f"Study: {name}={value} must be at least 1; give a larger number.")


@dataclass(frozen=True, slots=True)
class PaperProgress:
    """The progress of the study; ``data`` is the result, given only at ``fraction`` 1."""

    text: str
    fraction: float
    data: PaperStudy | None = None


def paper_scenario(seed: int | None = None) -> Scenario:
    """The shipped scenario of the paper's workload, with all schedulers, and another seed if one is given."""
    scenario = load_scenario(scenario_path(SCENARIO))
    own = {spec.name for spec in scenario.schedulers}
    others = (_asked(name) for name in scheduler_names() if name not in own)
    scenario = scenario.model_copy(update={"schedulers": (*scenario.schedulers, *others)})
    return scenario if seed is None else with_value(scenario, "seed", seed)


def _asked(name: str) -> SchedulerSpec:
    in_rounds = get_scheduler(name).kind == "allocate"
    return SchedulerSpec(name=name, options={"round_s": ROUND_S} if in_rounds else {})


def paper_study(
    settings: PaperSettings | None = None,
    *,
    engine: str = "auto",
    workers: int = 1,
    check: Callable[[], None] = lambda: None,
) -> Iterator[PaperProgress]:
    """Run the study; the last progress holds its result.

    Parameters
    ----------
    workers
        Processes; results do not depend on it.
    check
        Called now and then; what it raises (``Cancelled``) ends the work and comes out.
    """
    chosen, begin = settings or PaperSettings(), time.perf_counter()
    scenario, sources = paper_scenario(chosen.seed), Sources(scenario_path(SCENARIO).parent)
    found: dict[str, SweepReport] = {}
    for name in SWEEPS:
        start, span = _BEGIN[name], _span(name)
        for told in curves(
            scenario, _sweep(scenario, chosen, name), sources, engine=engine, workers=workers, check=check
        ):
            yield PaperProgress(f"background {name}, {told.stage}", start + span * told.fraction * 0.999)
        found[name] = sweep_report(told)
    beyond = with_value(scenario, LINK, OVERLOAD)
    rows = []
    for share, row in growth(beyond, sources, chosen.lengths, CLAIM, engine, check):
        yield PaperProgress("overload", _BEGIN["overload"] + _span("overload") * share * 0.999)
        rows.append(row)
    data = PaperStudy(
        study="paper",
        scenario=SCENARIO,
        command=_command(chosen),
        version=__version__,
        date=now_text(),
        seed=scenario.seed,
        jobs=chosen.jobs,
        replications=chosen.replications,
        claim=CLAIM,
        sweeps=found,
        reach=tuple(reach(scenario, sources, CLAIM)),
        overload=Overload(key=LINK, value=OVERLOAD, schedulers=tuple(r for r in rows if r)),
        seconds=time.perf_counter() - begin,
    )
    yield PaperProgress("done", 1.0, rounded_result(data))


def _span(part: str) -> float:
    later = [b for b in (*_BEGIN.values(), 1.0) if b > _BEGIN[part]]
    return min(later) - _BEGIN[part]


def _sweep(scenario: Scenario, settings: PaperSettings, name: str) -> SweepSettings:
    key, values = SWEEPS[name]
    return SweepSettings(
        number=number_named(scenario, key),
        values=(settings.values or {}).get(name, values),
        schedulers=tuple(s.name for s in scenario.schedulers),
        jobs=settings.jobs,
        replications=settings.replications,
    )


def _command(settings: PaperSettings) -> str:
    usual = PaperSettings()
    changed = [
        (f"--{option}", str(value))
        for option, value, default in (
            ("jobs", settings.jobs, usual.jobs),
            ("replications", settings.replications, usual.replications),
            ("seed", settings.seed, usual.seed),
        )
        if value != default
    ]
    return shlex.join(["nona", "study", "paper", "--json", *(w for pair in changed for w in pair)])
