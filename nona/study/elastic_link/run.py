"""The study: the same workloads without a link, and on links that background traffic uses too."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from nona import __version__
from nona.errors import SimulationError
from nona.hardware.network import Network
from nona.options import Option
from nona.results.training.elastic_link import ElasticLinkPoint, ElasticLinkStudy
from nona.study.elastic.run import ElasticRequest
from nona.study.elastic.runs import DIGITS, EFFORT, Hear, check_size, run_points
from nona.study.provenance import now_text
from nona.study.shipped import rounded_result
from nona.training.elastic.model.link import Link
from nona.training.elastic.model.workload import SHIPPED
from nona.training.elastic.policies.registry import ELASTIC
from nona.training.elastic.replications import ElasticRun
from nona.units import format_bandwidth

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

    workloads: tuple[int, ...] = SHIPPED
    capacities: tuple[float, ...] = (1.25e9, 0.625e9)
    background: float = 0.5
    policies: tuple[str, ...] = ()
    generations: int = 20
    replications: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_size(self.workloads, self.replications)
        if missing := {ELASTIC.find(name).name for name in self.policies} - {p for p, _ in WAYS.values()}:
            known = ", ".join(dict.fromkeys(p for p, _ in WAYS.values()))
            raise SimulationError(f"Study: policy {min(missing)!r} is not part of it; choose from {known}.")


class Place(NamedTuple):
    """A point of the study; ``capacity`` 0: no link."""

    name: str
    capacity: float


def places_of(settings: ElasticLinkSettings) -> list[Place]:
    """Every policy without a link, then on each link, fast ones first."""
    wanted = [name for name, (policy, _) in WAYS.items() if policy in (settings.policies or (policy,))]
    capacities = sorted(dict.fromkeys(settings.capacities), reverse=True)
    return [Place(name, capacity) for name, capacity in product(wanted, (0.0, *capacities))]


def elastic_link_study(
    settings: ElasticLinkSettings | None = None,
    *,
    workers: int = 1,
    on_progress: Hear = lambda share, text: None,
) -> ElasticLinkStudy:
    """Run the study; its results with their provenance (command, version, date, seed).

    ``on_progress`` hears the share of the runs that is done; what it raises ends the work and comes out.
    """
    chosen, begin = settings or ElasticLinkSettings(), time.perf_counter()
    places = places_of(chosen)
    requests = [[request_of(chosen, place, number) for number in chosen.workloads] for place in places]
    found = run_points(requests, chosen.replications, workers=workers, on_progress=on_progress)
    points = [_point(chosen, place, runs) for place, runs in zip(places, found.points, strict=True)]
    return rounded_result(
        ElasticLinkStudy(
            study="elastic-link",
            command=_command(chosen),
            version=__version__,
            date=now_text(),
            seed=chosen.seed,
            workloads=chosen.workloads,
            background=chosen.background,
            generations=chosen.generations,
            replications=chosen.replications,
            points=tuple(points),
            failed_checks=found.failed_checks,
            seconds=time.perf_counter() - begin,
        ),
        DIGITS,
    )


def request_of(settings: ElasticLinkSettings, place: Place, number: int) -> ElasticRequest:
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


def _point(
    settings: ElasticLinkSettings, place: Place, runs: Sequence[Sequence[ElasticRun]]
) -> ElasticLinkPoint:
    policy, options = WAYS[place.name]
    return ElasticLinkPoint(
        name=place.name,
        policy=policy,
        options=options,
        view=ELASTIC[policy].network_view,
        capacity=place.capacity or None,
        background=settings.background if place.capacity else 0.0,
        jcts_s=tuple(tuple(run.measures.mean_jct_s for run in of) for of in runs),
        link_share=tuple(sum(run.measures.link_share for run in of) / len(of) for of in runs),
    )


def _command(chosen: ElasticLinkSettings) -> str:
    """The command that makes these results."""
    usual, words = ElasticLinkSettings(), ["nona", "study", "elastic-link", "--json"]
    if chosen.workloads != usual.workloads:
        words += [word for number in chosen.workloads for word in ("--workload", str(number))]
    if chosen.capacities != usual.capacities:
        words += [word for c in chosen.capacities for word in ("--capacity", format_bandwidth(c))]
    words += [word for policy in chosen.policies for word in ("--policy", policy)]
    for name in ("background", "generations", "replications", "seed"):
        if (value := getattr(chosen, name)) != getattr(usual, name):
            words += [f"--{name}", f"{value:g}"]
    return shlex.join(words)
