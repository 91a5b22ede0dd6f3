"""The study of elastic jobs: over load and interference.

Every policy gets the same workloads; what the authors' simulator gave stands beside them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any, NamedTuple

from evidence.policy_results import ElasticPoint, ElasticStudy
from evidence.provenance import OnProgress, check_least, origin, rounded_result
from nona.core.errors import SimulationError
from nona.core.experiments import Shares, do_nothing
from nona.queries.workflows.shipped import choice
from nona.scenario.schema import Scenario
from nona.training.elastic.engine import ElasticProgress
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.replications import ElasticRun, PolicyRun, replications_of, run_pieces
from nona.training.elastic.workload import SHIPPED, PublishedRun, published
from nona.training.workflows.elastic import elastic_part, elastic_system, measured_scenario, published_mean

EFFORT = "generations"
DIGITS = 10
Runs = tuple[ElasticRun, ...]


@dataclass(frozen=True, slots=True)
class StudyRuns:
    """For each point the runs of each workload; and the checks that failed, in words."""

    points: tuple[tuple[Runs, ...], ...]
    failed_checks: tuple[str, ...]


def _check_size(settings: ElasticStudySettings) -> None:
    workloads = settings.workloads
    if not workloads or not set(workloads) <= set(SHIPPED):
        shipped = ", ".join(map(str, SHIPPED))
        raise SimulationError(f"Study: workloads={list(workloads)} must be among {shipped}; change them.")
    check_least(settings)


def _run_points(
    points: Sequence[Sequence[Scenario]], replications: int, *, workers: int, on_progress: OnProgress
) -> StudyRuns:
    """Run every scenario, of one policy each; ``points`` have as many workloads each.

    ``on_progress`` hears the share of the runs that is done; what it raises ends the work and comes out.
    """
    pieces = [_piece(scenario) for scenario in chain.from_iterable(points)]
    counts = [replications_of(ELASTIC[piece.policy], replications) for piece in pieces]
    shares = Shares({(place, r): 1.0 for place, count in enumerate(counts) for r in range(count)})

    def report(progress: ElasticProgress) -> None:
        share = shares.add((progress.piece, progress.replication), progress.fraction)
        on_progress(share, progress.policy)

    results = run_pieces(pieces, replications, workers=workers, keep=False, on_progress=report)
    rest = iter(results)
    failed = (
        f"{piece.policy}: {check.name}: {check.detail}"
        for piece, runs in zip(pieces, results, strict=True)
        for run in runs
        for check in run.checks
        if not check.ok
    )
    return StudyRuns(tuple(tuple(next(rest) for _ in point) for point in points), tuple(failed))


def _piece(scenario: Scenario) -> PolicyRun:
    (policy,) = elastic_part(scenario).policies
    return PolicyRun(elastic_system(scenario), policy.name, policy.options)


SWITCH = "avoid_interference"
POLICIES = ("pollux", "optimus", "tiresias", "gandiva", "sjf", "fifo")


def _workloads() -> Any:
    text = "only this one of the four; repeat for several"
    return choice(SHIPPED, text, option="workload", least=1, most=4, metavar="N")


def _policies() -> Any:
    return choice((), "only this one; repeat", option="policy", of="elastic policy", metavar="P")


def _generations() -> Any:
    return choice(20, "of each search of Pollux; 100 in its public simulator", least=2, most=1000)


def _replications() -> Any:
    return choice(1, "runs of each point of policies that draw random numbers", least=1)


@dataclass(frozen=True, slots=True)
class ElasticStudySettings:
    """Size of the study; ``policies``: only these, those of ``POLICIES`` if empty.

    Interference is studied at load 1. ``generations`` of each search of Pollux: 100 in its public simulator;
    with 20 its mean JCTs are within 2 % of that simulator's.
    """

    workloads: tuple[int, ...] = _workloads()
    loads: tuple[float, ...] = choice(
        (0.5, 1.0, 1.5, 2.0),
        "times as many jobs in the same hours; repeat for several",
        option="load",
        metavar="NUMBER",
    )
    interference: tuple[float, ...] = choice(
        (0.0, 0.25, 0.5),
        "part of its speed that a job on several nodes loses next to another one; repeat for several",
        dimension="fraction",
        metavar="SHARE",
    )
    policies: tuple[str, ...] = _policies()
    generations: int = _generations()
    replications: int = _replications()
    seed: int = choice(0, "seed of all runs")

    def __post_init__(self) -> None:
        _check_size(self)

    @property
    def wanted(self) -> list[str]:
        return [ELASTIC.find(name).name for name in self.policies or POLICIES]


class Place(NamedTuple):
    """A point of the study; ``avoid``: whether a policy that can avoid interference does."""

    policy: str
    load: float
    interference: float
    avoid: bool


def places_of(settings: ElasticStudySettings) -> list[Place]:
    """Return the points: all policies over load, then over interference at load 1.

    With avoidance no job is ever slowed, so one run stands for every interference; policies without such a
    switch are run at each.
    """
    places = [Place(name, load, 0.0, True) for name, load in product(settings.wanted, settings.loads)]
    for name, part in product(settings.wanted, settings.interference):
        avoids = SWITCH in ELASTIC[name].defaults
        if avoids or part > 0:
            places.append(Place(name, 1.0, part, not avoids))
    return places


def elastic_study(
    settings: ElasticStudySettings | None = None,
    *,
    workers: int = 1,
    on_progress: OnProgress = do_nothing,
) -> ElasticStudy:
    """Run the study."""
    chosen, begin = settings or ElasticStudySettings(), time.perf_counter()
    places = places_of(chosen)
    scenarios = [[_scenario(chosen, place, number) for number in chosen.workloads] for place in places]
    study_runs = _run_points(scenarios, chosen.replications, workers=workers, on_progress=on_progress)
    points = (_point(chosen, place, runs) for place, runs in zip(places, study_runs.points, strict=True))
    return rounded_result(
        ElasticStudy.from_fields(
            chosen,
            **origin("elastic", chosen),
            points=tuple(points),
            failed_checks=study_runs.failed_checks,
            seconds=time.perf_counter() - begin,
        ),
        DIGITS,
    )


def _scenario(settings: ElasticStudySettings, place: Place, number: int, *without: str) -> Scenario:
    """Return the scenario of a point; ``without``: options that stay at their defaults."""
    settable = {SWITCH: place.avoid, EFFORT: settings.generations}
    defaults = ELASTIC[place.policy].defaults
    options = {name: value for name, value in settable.items() if name in defaults and name not in without}
    scenario = measured_scenario(
        workload=number,
        policies=[{"name": place.policy, "options": options}],
        load=place.load,
        interference=place.interference,
    )
    return scenario.model_copy(update={"seed": settings.seed})


def _point(
    settings: ElasticStudySettings, place: Place, runs: Sequence[Sequence[ElasticRun]]
) -> ElasticPoint:
    return ElasticPoint.from_fields(
        place,
        jcts_s=tuple(tuple(run.outcome.jct_s.mean or 0.0 for run in of) for of in runs),
        published_s=tuple(
            # with the search that the authors' simulator has
            published_mean(_scenario(settings, place, number, EFFORT), place.policy)
            for number in settings.workloads
        ),
        published_mean_s=published().get(PublishedRun(*place, 0)),
    )
