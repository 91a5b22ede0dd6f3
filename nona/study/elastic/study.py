"""The study: mean JCT over relative load, and over interference with and without avoidance.

Every policy gets the same workloads; what the authors' simulator gave stands beside them.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from nona import __version__
from nona.results.training.elastic import ElasticPoint, ElasticStudy
from nona.study.elastic.run import ElasticRequest, published_mean
from nona.study.elastic.runs import DIGITS, EFFORT, Hear, check_size, run_points
from nona.study.provenance import now_text
from nona.study.shipped import rounded_result
from nona.training.elastic.model.workload import SHIPPED
from nona.training.elastic.policies.registry import ELASTIC
from nona.training.elastic.published import Case, published
from nona.training.elastic.replications import ElasticRun

SWITCH = "avoid_interference"
POLICIES = ("pollux", "optimus", "tiresias", "gandiva", "sjf", "fifo")


@dataclass(frozen=True, slots=True)
class ElasticStudySettings:
    """Size of the study; ``policies``: only these, those of ``POLICIES`` if empty.

    Interference is studied at load 1. ``generations`` of each search of Pollux: 100 in its public simulator;
    with 20 its mean JCTs are within 2 % of that simulator's.
    """

    workloads: tuple[int, ...] = SHIPPED
    loads: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0)
    interference: tuple[float, ...] = (0.0, 0.25, 0.5)
    policies: tuple[str, ...] = ()
    generations: int = 20
    replications: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_size(self.workloads, self.replications)

    @property
    def wanted(self) -> list[str]:
        """The policies."""
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
    found = [Place(name, load, 0.0, True) for name, load in product(settings.wanted, settings.loads)]
    for name, part in product(settings.wanted, settings.interference):
        avoids = SWITCH in ELASTIC[name].defaults
        if avoids or part > 0:
            found.append(Place(name, 1.0, part, not avoids))
    return found


def elastic_study(
    settings: ElasticStudySettings | None = None,
    *,
    workers: int = 1,
    on_progress: Hear = lambda share, text: None,
) -> ElasticStudy:
    """Run the study; its results with their provenance (command, version, date, seed).

    ``on_progress`` hears the share of the runs that is done; what it raises ends the work and comes out.
    """
    chosen, begin = settings or ElasticStudySettings(), time.perf_counter()
    places = places_of(chosen)
    requests = [[_request(chosen, place, number) for number in chosen.workloads] for place in places]
    found = run_points(requests, chosen.replications, workers=workers, on_progress=on_progress)
    points = map(_point, places, requests, found.points)
    return rounded_result(
        ElasticStudy(
            study="elastic",
            command=_command(chosen),
            version=__version__,
            date=now_text(),
            seed=chosen.seed,
            workloads=chosen.workloads,
            generations=chosen.generations,
            replications=chosen.replications,
            points=tuple(points),
            failed_checks=found.failed_checks,
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
    known = {SWITCH: place.avoid, EFFORT: settings.generations}
    options = {name: value for name, value in known.items() if name in ELASTIC[place.policy].defaults}
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
    return ElasticPoint(
        policy=place.policy,
        load=place.load,
        interference=place.interference,
        avoid=place.avoid,
        jcts_s=tuple(tuple(run.measures.mean_jct_s for run in of) for of in runs),
        published_s=tuple(published_mean(_as_published(request), place.policy) for request in requests),
        published_mean_s=published().get(Case(*place, 0)),
    )


def _command(chosen: ElasticStudySettings) -> str:
    """The command that makes these results."""
    usual, words = ElasticStudySettings(), ["nona", "study", "elastic", "--json"]
    lists = (("workload", "workloads"), ("load", "loads"), ("interference", "interference"))
    for option, name in lists:
        if (values := getattr(chosen, name)) != getattr(usual, name):
            words += [word for value in values for word in (f"--{option}", f"{value:g}")]
    words += [word for policy in chosen.policies for word in ("--policy", policy)]
    for name in ("generations", "replications", "seed"):
        if (value := getattr(chosen, name)) != getattr(usual, name):
            words += [f"--{name}", str(value)]
    return shlex.join(words)
