"""The cells of the study of decisions: links, loads, and the workloads on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from types import MappingProxyType

from evidence.networks import NETWORKS
from evidence.results import NetworkFacts
from nona.queries.system import System
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import scenario_from_mapping
from nona.scenario.sample_files import description, manifest, workflows
from nona.scenario.schema import Scenario

LINKS = (10.0, 25.0, 100.0, 200.0)  # Gbit/s
BACKGROUNDS = (0.0, 0.3, 0.6, 0.85)  # of the link
LOADS = (0.2, 0.5, 0.8)  # of the executors, by the queries


@dataclass(frozen=True, slots=True)
class Cell:
    """Speed of the link (Gbit/s), share of it that others use, share of the executors' time that queries use.

    ``link`` and ``background`` are ``None`` where nothing can be sent, so that the link does not matter.
    """

    link: float | None
    background: float | None
    load: float


def all_cells() -> tuple[Cell, ...]:
    """Return the 48 combinations.

    >>> len(all_cells())
    48
    """
    return tuple(Cell(*levels) for levels in product(LINKS, BACKGROUNDS, LOADS))


def fraction(number: int) -> tuple[Cell, ...]:
    """Return a quarter of the combinations, for the ``number``-th network: 12 cells, a Latin rectangle.

    Formula: link i meets load l with background (i + l + number) mod 4. So every link meets every load
    once, every background every load once, and every link three of the four backgrounds; four networks
    one after the other have all 48 combinations.

    >>> sorted({cell for number in range(4) for cell in fraction(number)}, key=str) == sorted(
    ...     all_cells(), key=str)
    True

    Source: Wu and Hamada, Experiments, 3rd ed. 2021, chapter 3 (Latin squares and rectangles).
    """
    return tuple(
        Cell(link, BACKGROUNDS[(i + k + number) % len(BACKGROUNDS)], load)
        for i, link in enumerate(LINKS)
        for k, load in enumerate(LOADS)
    )


def loads_only() -> tuple[Cell, ...]:
    """Return the cells of a network that contracts to a single task: no messages, only loads differ."""
    return tuple(Cell(None, None, load) for load in LOADS)


SERVERS, GPU = 16, "a100-40gb"
LATENCY, MESSAGE = "20 us", "1 MB"
_ANY = Cell(25.0, 0.0, 0.5)  # where nothing is sent any link will do


@dataclass(frozen=True, slots=True)
class Workload:
    """Models that share the cluster, each with an equal share of the work."""

    name: str
    family: str
    description: str
    models: tuple[str, ...]


def _mixes() -> tuple[Workload, ...]:
    paper = ("alexnet", "resnet18", "vgg16", "densenet121", "gpt2")
    seeing = ("resnet50", "vit_b_16", "bert_base", "gpt2")
    return (
        Workload("five_models", "mixes", "the five models of the paper", paper),
        Workload("vision_language", "mixes", "two image and two language models", seeing),
        Workload("all_workflows", "mixes", "all sample workflows", tuple(workflows())),
    )


@cache
def workload_table() -> Mapping[str, Workload]:
    """Name → workload: samples, workflows, mixes, generated networks.

    >>> workload_table()["mixture_64"].family
    'mixture of experts'
    """
    workloads = [
        *(Workload(n, "sample networks", description(n), (n,)) for n in manifest()),
        *(Workload(n, "sample workflows", description(n), (n,)) for n in workflows()),
        *_mixes(),
        *(Workload(n, g.family, g.description, (n,)) for n, g in NETWORKS.items()),
    ]
    return MappingProxyType({w.name: w for w in workloads})


def cell_scenario(workload: Workload, cell: Cell, seed: int = 0) -> Scenario:
    """The scenario of a cell: the rates bring its load to the executors, each model equally much of it.

    Formula: rate_j = load · executors / (models · Σ task times of j).
    """
    alone = _system(workload)
    share = cell.load * alone.executors / len(alone.queries)
    return _scenario(workload, cell, [share / float(q.tasks.compute_s[0].sum()) for q in alone.queries], seed)


def distributes(workload: Workload) -> bool:
    """Return whether some sub-graph has tasks between root and sink: else every task stays where it is."""
    return any(s.interior for q in _system(workload).queries for s in q.decomposition.subgraphs)


def facts(workload: Workload) -> NetworkFacts:
    """Facts on a workload for a table: its tasks, its largest interior, seconds and bytes of a query."""
    queries = _system(workload).queries
    return NetworkFacts.from_fields(
        workload,
        tasks=sum(len(q.tasks) for q in queries),
        interior=max((len(s.interior) for q in queries for s in q.decomposition.subgraphs), default=0),
        work_s=sum(float(q.tasks.compute_s[0].sum()) for q in queries) / len(queries),
        bytes=sum(float(q.tasks.tensor_bytes.sum()) for q in queries) / len(queries),
    )


def _system(workload: Workload) -> System:
    """Return the models at one query per second each."""
    return prepare(_scenario(workload, _ANY, [1.0] * len(workload.models), 0)).system


def _scenario(workload: Workload, cell: Cell, rates: list[float], seed: int) -> Scenario:
    link, background = cell.link or _ANY.link, cell.background or 0.0
    rows = zip(workload.models, rates, strict=True)
    return scenario_from_mapping(
        {
            "version": 1,
            "name": workload.name,
            "seed": seed,
            "cluster": {
                "servers": [{"count": SERVERS, "gpu": GPU}],
                "network": {"capacity": f"{link:g} Gbit/s", "latency": LATENCY},
            },
            "background": {"network": {"utilization": background, "mean_size": MESSAGE, "scv": 1}},
            "workload": [{"model": model, "rate": rate} for model, rate in rows],
            "cost": {"precision": "model"},  # the study is of single precision in full
            "models": {m: NETWORKS[m].build() for m in workload.models if m in NETWORKS},
        }
    )
