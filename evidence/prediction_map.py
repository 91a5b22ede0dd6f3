"""The formula beside simulation over load, background, locality and models."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import numpy as np

from evidence.decision_cells import Cell, cell_scenario, workload_table
from evidence.networks import NETWORKS
from evidence.provenance import OnProgress, check_least, made_by, measured, rounded_result
from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.experiments import do_nothing
from nona.queries.placement.capacity import executor_utilization
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.placement.prediction import predict
from nona.queries.placement.proposals import blend
from nona.queries.placement.result import Queries
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.schedulers.sampling_tables import build_tables
from nona.queries.simulation.records import Records
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.simulation.summary import summarize
from nona.queries.study_results import MapAbout, MapPoint, PredictionMap
from nona.queries.sweeps.numbers import with_value
from nona.queries.system import BackgroundStream, System
from nona.queries.workflows.placing import place_system
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.shipped import choice
from nona.queries.workflows.tested_range import HIGHEST
from nona.scenario.arrivals import Arrivals
from nona.scenario.file import load_scenario
from nona.scenario.sample_files import scenario_path

SCENARIOS = (
    "slides_example",
    "vision_language_8_servers",
    "five_models_80_servers",
    "background_sweep",
    "ensemble_bursty",
    "esg_workflows",
    "mig_layouts",
    "racks_and_nics",
    "rag_pipeline",
)
_BURSTY = "vision_language_8_servers"
_NETWORK_CELL = Cell(100.0, 0.3, 0.5)  # link speed (Gbit/s) and what the map's loads start from


def _trace(gaps: int = 4000, sigma: float = 1.2, seed: int = 0) -> Arrivals:
    """Return a trace of log-normal gaps (their coefficient of variation is 1.8), as a file would give it."""
    drawn = np.random.default_rng(seed).lognormal(0.0, sigma, gaps)
    return Arrivals("trace", times_s=tuple(np.cumsum(drawn).tolist()))


# Name → arrivals of every class of the shipped scenario ``_BURSTY``.
BURSTS: Mapping[str, Arrivals] = MappingProxyType(
    {
        "gamma gaps, cv 2": Arrivals("gamma", cv=2.0),
        "gamma gaps, cv 3": Arrivals("gamma", cv=3.0),
        "bursts (MMPP)": Arrivals("mmpp", burst_factor=3.0, burst_fraction=0.1, burst_mean_s=1.0),
        "trace": _trace(),
    }
)
ON_MAP = (  # of the generated networks one of each family
    "whisper_small",
    "stable_diffusion_u_net",
    "mixture_8",
    "ensemble_8",
    "retrieval_32",
    "two_tower_16",
    "diffusion_4",
)
SYSTEMS: tuple[str, ...] = (*SCENARIOS, *BURSTS, *ON_MAP)


def map_system(name: str, seed: int | None = None) -> System:
    """Return the system called ``name``, with another seed where one is given.

    Raises ``SimulationError`` for a name that is not on the map.
    """
    if name in ON_MAP:
        scenario = cell_scenario(workload_table()[name], _NETWORK_CELL, seed or 0)
        return prepare(scenario).system
    if name not in SYSTEMS:
        raise SimulationError(f"Study: {name!r} is not on the map; choose from {', '.join(SYSTEMS)}.")
    scenario = load_scenario(scenario_path(_BURSTY if name in BURSTS else name))
    if scenario.cost.precision == "auto":  # the map is of single precision in full
        scenario = with_value(scenario, "cost.precision", "model")
    system = prepare(scenario if seed is None else with_value(scenario, "seed", seed)).system
    if name not in BURSTS:
        return system
    return replace(system, queries=tuple(replace(q, arrivals=BURSTS[name]) for q in system.queries))


PLACEMENTS = ("local", "quarter", "half", "spread", "nona")
OF_NETWORKS = ("local", "formula", "nona")  # large interiors overload any link when they are spread
_SPREAD_SHARE = {"local": 0.0, "quarter": 0.25, "half": 0.5, "spread": 1.0}


@dataclass(frozen=True, slots=True)
class Load:
    """Utilisation of the most loaded executors and of the most loaded links, ``None``: as in the scenario."""

    name: str
    servers: float | None
    link: float | None


LOADS: Mapping[str, Load] = {
    load.name: load
    for load in (
        Load("as shipped", None, None),
        Load("both 0.6", 0.6, 0.6),
        Load("servers 0.85", HIGHEST, 0.5),
        Load("link 0.85", 0.5, HIGHEST),
        Load("both 0.85", HIGHEST, HIGHEST),
        Load("both 0.3", 0.3, 0.3),
        Load("servers 0.3, link 0.6", 0.3, 0.6),
        Load("servers 0.3, link 0.85", 0.3, HIGHEST),
        Load("servers 0.6, link 0.3", 0.6, 0.3),
        Load("servers 0.85, link 0.3", HIGHEST, 0.3),
    )
}
OF_SERVERS = ("as shipped", "both 0.6", "servers 0.85", "both 0.3")  # enough where no message is sent
OF_OTHERS = ("as shipped", "both 0.6", "servers 0.85", "link 0.85", "both 0.85")
NETWORK_LOADS: Mapping[str, tuple[str, ...]] = {  # placing a large network takes seconds
    "local": OF_SERVERS,
    "formula": ("as shipped", "servers 0.3, link 0.6"),
    "nona": (*OF_OTHERS, "both 0.3", "servers 0.3, link 0.6"),
}
OF_BURSTS = ("as shipped", "both 0.6", "servers 0.85", "both 0.3")


def splits(queries: Queries) -> float:
    """Mean probability of leaving the root's server, over the sub-graphs that have an interior."""
    shares = [
        sum(p for c, p in zip(s.configurations, s.probabilities.tolist(), strict=True) if not c.is_local)
        for row in queries
        for s in row
        if s.subgraph.interior
    ]
    return float(np.mean(shares)) if shares else 0.0


@dataclass(frozen=True, eq=False)
class Placed:
    """Configurations of every sub-graph, and shares (J, K) of the executor classes if not a uniform draw."""

    queries: Queries
    shares: Floats | None = None


def placed(system: System, name: str) -> Placed:
    """Return the placement called ``name`` for ``system``; ``nona`` and ``formula`` are solved there."""
    if name in ("nona", "formula"):
        solved = place_system(system, "formula" if name == "formula" else "mean-jct")
        return Placed(solved.queries, solved.class_shares)
    local, spread = local_placement(system).queries, spread_placement(system).queries
    return Placed(blend(local, spread, _SPREAD_SHARE[name]))


def point(system: System, name: str, load: Load) -> tuple[System, Placed]:
    """Return the system at a load, and a placement there.

    All rates are scaled alike until the most loaded executors are at ``load.servers``; then the link's
    background fills the most loaded links up to ``load.link``. Where the messages alone are more, the
    rates go down instead, and the executors stay below.
    """
    if load.servers is None or load.link is None:
        return system, placed(system, name)
    quiet = replace(system, background_network=replace(system.background_network, rate=0.0))
    busy = scaled(quiet, _factor(quiet, load.servers))
    half = with_background(busy, 0.5 * load.link)
    placement = placed(half if name in ("nona", "formula") else busy, name)
    own = predict(busy, placement.queries, placement.shares).network_utilization
    if own > load.link:
        busy = scaled(busy, load.link / own)
        own = load.link
    return with_background(busy, load.link - own), placement


def with_background(system: System, utilization: float) -> System:
    """Return the system with another background utilisation of the link, messages of the same size."""
    stream = system.background_network
    mean = stream.mean if stream.mean > 0 else 1e6  # bytes
    rate = utilization * system.capacity / mean
    return replace(system, background_network=BackgroundStream(rate, mean, stream.scv))


def scaled(system: System, factor: float) -> System:
    """All query rates times ``factor``."""
    return replace(system, queries=tuple(replace(q, rate=factor * q.rate) for q in system.queries))


def _factor(system: System, servers: float) -> float:
    background, queries = executor_utilization(system)
    highest = max(queries)
    return max(servers - background, 0.05 * servers) / highest if highest > 0 else 1.0


def names_of(name: str, can_split: bool) -> Sequence[tuple[str, str]]:
    """(placement, load) of every point of the system ``name``; just local ones where nothing can be split."""
    if not can_split:
        return [("local", load) for load in OF_SERVERS]
    if name in BURSTS:
        return [(p, load) for p in ("local", "half", "nona") for load in OF_BURSTS]
    if name in NETWORKS:
        return [(p, load) for p in OF_NETWORKS for load in NETWORK_LOADS[p]]
    return [(p, load) for p in PLACEMENTS for load in _loads_of(p)]


def _loads_of(placement: str) -> tuple[str, ...]:
    """Return the loads of a placement: all for the default, some for those that it is compared with."""
    if placement == "local":
        return OF_SERVERS
    return tuple(LOADS) if placement == "nona" else OF_OTHERS


_FEWEST = 200  # jobs of a run


def measure(
    names: tuple[str, str, str],
    system: System,
    placed: Placed,
    *,
    tasks: int,
    replications: int,
    engine: str = "auto",
) -> MapPoint:
    """Predict and simulate a placement; ``names`` are those of the scenario, the placement and the load.

    Each of ``replications`` runs has about ``tasks`` tasks.
    """
    scenario, placement, load = names
    predicted = predict(system, placed.queries, placed.shares)
    count = _runs_of(system, tasks)
    runs = simulated(system, placed, count, replications, engine)
    slo_s = [q.slo_s for q in system.queries]
    result = summarize(runs, slo_s, [q.name for q in system.queries]).result
    return MapPoint(
        scenario=scenario,
        placement=placement,
        load=load,
        servers=max(c.utilization for c in predicted.classes),
        link=predicted.network_utilization,
        split=splits(placed.queries),
        processes=tuple(sorted({q.arrivals.process for q in system.queries})),
        jobs=count,
        state=result.state,
        formula_s=predicted.jct_s,
        simulated_s=result.jct_s.mean,
        ci95_s=result.jct_s.half_width,
    )


def _runs_of(system: System, tasks: int) -> int:
    """Jobs of a run that has about ``tasks`` tasks: the same effort at every point."""
    total = system.total_rate
    each = sum(q.rate * len(q.tasks) for q in system.queries) / total if total > 0 else 1.0
    return max(round(tasks / each), _FEWEST)


def simulated(
    system: System, placed: Placed, jobs: int, replications: int, engine: str = "auto"
) -> Sequence[Records]:
    """Run of the scheduler that samples from the placement."""
    scheduler = get_scheduler("nona")
    prepared = build_tables(system, placed.queries, shares=placed.shares)
    return [
        simulate_run(system, scheduler, prepared, RunOptions(jobs=jobs, replication=r, engine=engine))
        for r in range(replications)
    ]


_DIGITS = 5


@dataclass(frozen=True, slots=True)
class MapSettings:
    """Size of the study: ``replications`` runs of about ``tasks`` tasks at each point of ``scenarios``.

    ``seed``: those of the scenarios where it is ``None``.
    """

    tasks: int = choice(400_000, "approximate number of tasks per run", least=1000)
    replications: int = choice(5, "independent runs of each point", least=2)
    seed: int | None = choice(None, "overrides the scenarios' seeds")
    scenarios: tuple[str, ...] = choice(
        SYSTEMS, "only this one; repeat for several", option="scenario", of="mapped scenario", metavar="NAME"
    )

    def __post_init__(self) -> None:
        check_least(self)
        for name in self.scenarios:
            if name not in SYSTEMS:
                raise SimulationError(f"Study: {name!r} is not on the map; choose from {', '.join(SYSTEMS)}.")


def _of_point(size: MapSettings, engine: str, names: tuple[str, str, str]) -> MapPoint:
    name, placement, load = names
    system, placed = point(map_system(name, size.seed), placement, LOADS[load])
    return measure(names, system, placed, tasks=size.tasks, replications=size.replications, engine=engine)


def map_study(
    settings: MapSettings | None = None,
    *,
    engine: str = "auto",
    workers: int = 1,
    on_progress: OnProgress = do_nothing,
) -> PredictionMap:
    """Run the study; numbers are rounded to five significant digits."""
    size = settings or MapSettings()
    begin, names = time.perf_counter(), []
    for name in size.scenarios:
        queries = map_system(name, size.seed).queries
        split = any(s.interior for q in queries for s in q.decomposition.subgraphs)
        names += [(name, placement, load) for placement, load in names_of(name, split)]
    rows = measured(names, partial(_of_point, size, engine), ", ".join, workers, on_progress)
    about = MapAbout.from_fields(
        size,
        **made_by("prediction", size),
        seconds=time.perf_counter() - begin,
    )
    return rounded_result(PredictionMap(about=about, points=tuple(rows)), _DIGITS)
