"""The studies of elastic jobs: over load and interference, and on a link others use.

Every policy gets the same workloads; what the authors' simulator gave stands beside them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any, NamedTuple

from nona.errors import SimulationError
from nona.experiments import Shares
from nona.hardware.cluster import Network
from nona.options import Option
from nona.study.settings import choice
from nona.study.training.elastic import ElasticRequest, elastic_system, published_mean
from nona.training.elastic.engine import ElasticProgress
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.replications import ElasticRun, Piece, replications_of, run_pieces
from nona.training.elastic.system import Link
from nona.training.elastic.workload import SHIPPED, Case, published
from studies.policy_results import ElasticLinkPoint, ElasticLinkStudy, ElasticPoint, ElasticStudy
from studies.provenance import Hear, check_least, origin, rounded_result, unheard

EFFORT = "generations"
DIGITS = 10
Runs = tuple[ElasticRun, ...]


@dataclass(frozen=True, slots=True)
class StudyRuns:
    """For each point the runs of each workload; and the checks that failed, in words."""

    points: tuple[tuple[Runs, ...], ...]
    failed_checks: tuple[str, ...]


def _check_size(settings: ElasticStudySettings | ElasticLinkSettings) -> None:
    workloads = settings.workloads
    if not workloads or not set(workloads) <= set(SHIPPED):
        shipped = ", ".join(map(str, SHIPPED))
        raise SimulationError(f"Study: workloads={list(workloads)} must be among {shipped}; change them.")
    check_least(settings)


def _run_points(
    points: Sequence[Sequence[ElasticRequest]], replications: int, *, workers: int, on_progress: Hear
) -> StudyRuns:
    """Run every request, of one policy each; ``points`` have as many workloads each.

    ``on_progress`` hears the share of the runs that is done; what it raises ends the work and comes out.
    """
    pieces = [_piece(request) for request in chain.from_iterable(points)]
    counts = [replications_of(ELASTIC[piece.policy], replications) for piece in pieces]
    shares = Shares({(place, r): 1.0 for place, count in enumerate(counts) for r in range(count)})

    def hear(progress: ElasticProgress) -> None:
        share = shares.add((progress.piece, progress.replication), progress.fraction)
        on_progress(share, progress.policy)

    results = run_pieces(pieces, replications, workers=workers, keep=False, on_progress=hear)
    rest = iter(results)
    failed = (
        f"{piece.policy}: {check.name}: {check.detail}"
        for piece, runs in zip(pieces, results, strict=True)
        for run in runs
        for check in run.checks
        if not check.ok
    )
    return StudyRuns(tuple(tuple(next(rest) for _ in point) for point in points), tuple(failed))


def _piece(request: ElasticRequest) -> Piece:
    (policy,) = request.policies
    return Piece(elastic_system(request), policy, request.options.get(policy, {}))


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
    """The points: all policies over load, then over interference at load 1.

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
    on_progress: Hear = unheard,
) -> ElasticStudy:
    """Run the study."""
    chosen, begin = settings or ElasticStudySettings(), time.perf_counter()
    places = places_of(chosen)
    requests = [[_request(chosen, place, number) for number in chosen.workloads] for place in places]
    study_runs = _run_points(requests, chosen.replications, workers=workers, on_progress=on_progress)
    points = map(_point, places, requests, study_runs.points)
    return rounded_result(
        ElasticStudy.like(
            chosen,
            **origin("elastic", chosen),
            points=tuple(points),
            failed_checks=study_runs.failed_checks,
            seconds=time.perf_counter() - begin,
        ),
        DIGITS,
    )


def _request(settings: ElasticStudySettings, place: Place, number: int) -> ElasticRequest:
    request = ElasticRequest(
        workload=str(number),
        policies=(place.policy,),
        load=place.load,
        interference=place.interference,
        replications=settings.replications,
        seed=settings.seed,
    )
    settable = {SWITCH: place.avoid, EFFORT: settings.generations}
    options = {name: value for name, value in settable.items() if name in ELASTIC[place.policy].defaults}
    return replace(request, options={place.policy: options}) if options else request


def _as_published(request: ElasticRequest) -> ElasticRequest:
    """The same run with the search that the authors' simulator has."""
    kept = {
        policy: {name: value for name, value in options.items() if name != EFFORT}
        for policy, options in request.options.items()
    }
    return replace(request, options=kept)


def _point(
    place: Place, requests: Sequence[ElasticRequest], runs: Sequence[Sequence[ElasticRun]]
) -> ElasticPoint:
    return ElasticPoint.like(
        place,
        jcts_s=tuple(tuple(run.outcome.jct_s.mean or 0.0 for run in of) for of in runs),
        published_s=tuple(published_mean(_as_published(request), place.policy) for request in requests),
        published_mean_s=published().get(Case(*place, 0)),
    )


WAYS: Mapping[str, tuple[str, Mapping[str, Option]]] = {
    "optimus-link": ("optimus-link", {}),
    "optimus": ("optimus", {}),
    "optimus, fitted": ("optimus", {"fitted": True}),
    "optimus, most_nodes=1": ("optimus", {"most_nodes": 1}),
    "optimus, compact": ("optimus", {"compact": True}),
    "pollux": ("pollux", {}),
    "tiresias": ("tiresias", {}),
    "gandiva": ("gandiva", {}),
    "gavel": ("gavel", {}),
    "sjf": ("sjf", {}),
    "fifo": ("fifo", {}),
}
"""Policies by name; Optimus also with its own measurements, and avoiding the link without seeing it."""


@dataclass(frozen=True, slots=True)
class ElasticLinkSettings:
    """Size of the study; ``policies``: only these, all of ``WAYS`` if empty.

    ``capacities`` in bytes/s; beside them every policy is run without a link. ``background``: utilisation of
    the links by others. ``generations`` of each search of Pollux.
    """

    workloads: tuple[int, ...] = _workloads()
    capacities: tuple[float, ...] = choice(
        (1.25e9, 0.625e9),
        "of the link (default '10 Gbit/s' and '5 Gbit/s'); repeat for several",
        option="capacity",
        dimension="bandwidth",
        metavar="RATE",
    )
    background: float = choice(0.5, "part of the link that others use", metavar="U")
    policies: tuple[str, ...] = _policies()
    generations: int = _generations()
    replications: int = _replications()
    seed: int = choice(0, "seed of all runs")

    def __post_init__(self) -> None:
        _check_size(self)
        if missing := {ELASTIC.find(name).name for name in self.policies} - {p for p, _ in WAYS.values()}:
            choices = ", ".join(dict.fromkeys(p for p, _ in WAYS.values()))
            raise SimulationError(f"Study: policy {min(missing)!r} is not part of it; choose from {choices}.")


class LinkPlace(NamedTuple):
    """A point of the study; ``capacity`` 0: no link."""

    name: str
    capacity: float


def link_places_of(settings: ElasticLinkSettings) -> list[LinkPlace]:
    """Every policy without a link, then on each link, fast ones first."""
    wanted = [name for name, (policy, _) in WAYS.items() if policy in (settings.policies or (policy,))]
    capacities = sorted(dict.fromkeys(settings.capacities), reverse=True)
    return [LinkPlace(name, capacity) for name, capacity in product(wanted, (0.0, *capacities))]


def elastic_link_study(
    settings: ElasticLinkSettings | None = None,
    *,
    workers: int = 1,
    on_progress: Hear = unheard,
) -> ElasticLinkStudy:
    """Run the study."""
    chosen, begin = settings or ElasticLinkSettings(), time.perf_counter()
    places = link_places_of(chosen)
    requests = [[request_of(chosen, place, number) for number in chosen.workloads] for place in places]
    study_runs = _run_points(requests, chosen.replications, workers=workers, on_progress=on_progress)
    points = [_link_point(chosen, place, runs) for place, runs in zip(places, study_runs.points, strict=True)]
    return rounded_result(
        ElasticLinkStudy.like(
            chosen,
            **origin("elastic-link", chosen),
            points=tuple(points),
            failed_checks=study_runs.failed_checks,
            seconds=time.perf_counter() - begin,
        ),
        DIGITS,
    )


def request_of(settings: ElasticLinkSettings, place: LinkPlace, number: int) -> ElasticRequest:
    """The run of a point on one workload."""
    policy, options = WAYS[place.name]
    effort = {EFFORT: settings.generations} if EFFORT in ELASTIC[policy].defaults else {}
    return ElasticRequest(
        workload=str(number),
        policies=(policy,),
        replications=settings.replications,
        seed=settings.seed,
        options={policy: {**options, **effort}},
        link=Link(Network(place.capacity), settings.background) if place.capacity else None,
    )


def _link_point(
    settings: ElasticLinkSettings, place: LinkPlace, runs: Sequence[Sequence[ElasticRun]]
) -> ElasticLinkPoint:
    policy, options = WAYS[place.name]
    return ElasticLinkPoint(
        name=place.name,
        policy=policy,
        options=options,
        view=ELASTIC[policy].network_view,
        capacity=place.capacity or None,
        background=settings.background if place.capacity else 0.0,
        jcts_s=tuple(tuple(run.outcome.jct_s.mean or 0.0 for run in of) for of in runs),
        link_share=tuple(sum(run.outcome.link_share for run in of) / len(of) for of in runs),
    )
