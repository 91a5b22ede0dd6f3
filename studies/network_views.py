"""The study of network views: every scheduler on an idle and on a loaded link.

The scenario is small on purpose: the queries of a shipped workflow gain from being split over servers while
the link is idle, and their tensors have to wait once others use a third of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from nona.results.document import Estimate
from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.schedulers.registry import get_scheduler, scheduler_names
from nona.simulation.summary import Measured
from nona.statistics import mean_interval, paired_ratio
from nona.study.preparation import prepare
from nona.study.settings import choice
from nona.study.simulation import SimulationProgress, SimulationResult, simulate
from studies.provenance import Hear, check_least, made_by, rounded_result, unheard
from studies.results import NetworkViewRow, NetworkViewsAbout, NetworkViewsStudy, OnLink

DIGITS = 5
MODEL, SERVERS, GPU, CAPACITY = "ensemble", 8, "a100-40gb", "15 Gbit/s"
LOAD, BACKGROUND = 0.3, 0.36
REFERENCE = "local"
FEWEST_JOBS, FEWEST_RUNS = 100, 2  # with one run there is no interval


@dataclass(frozen=True, slots=True)
class NetworkViewSettings:
    """Size of the study: ``replications`` runs of ``jobs``; ``schedulers`` empty: all that are registered."""

    jobs: int = choice(4000, "jobs measured per run", least=FEWEST_JOBS)
    replications: int = choice(20, "independent runs of each scheduler on each link", least=FEWEST_RUNS)
    seed: int = choice(0, "seed of all runs")
    schedulers: tuple[str, ...] = choice(
        (),
        "scheduler to run, see `nona schedulers`; repeat for several",
        option="scheduler",
        of="scheduler",
        metavar="S",
    )

    def __post_init__(self) -> None:
        check_least(self)
        for name in self.schedulers:
            get_scheduler(name)


def network_views_study(
    settings: NetworkViewSettings | None = None,
    *,
    engine: str = "auto",
    workers: int = 1,
    on_progress: Hear = unheard,
) -> NetworkViewsStudy:
    """Run the study; numbers are rounded to :data:`DIGITS` significant digits."""
    chosen, begin = settings or NetworkViewSettings(), time.perf_counter()
    names = tuple(dict.fromkeys((REFERENCE, *(chosen.schedulers or scheduler_names()))))
    links = (("idle link", 0.0), ("loaded link", BACKGROUND))
    results = []
    for number, (label, background) in enumerate(links):

        def told(progress: SimulationProgress, done: int = number, what: str = label) -> None:
            on_progress((done + progress.fraction) / len(links), f"{what}, {progress.scheduler}")

        study = prepare(_scenario(names, background, chosen))
        results.append(simulate(study, engine=engine, workers=workers, on_progress=told))
    idle, loaded = results
    rows = tuple(_row(name, idle, loaded) for name in names)
    about = _about(chosen, time.perf_counter() - begin)
    return rounded_result(NetworkViewsStudy(about=about, rows=rows), DIGITS)


def _scenario(names: tuple[str, ...], background: float, settings: NetworkViewSettings) -> Scenario:
    """Both links have the same jobs: the seed is the same, and arrivals do not depend on the link."""

    def at_rate(rate: float) -> Scenario:
        return scenario_from_mapping(
            {
                "version": 1,
                "name": "Who sees the network",
                "seed": settings.seed,
                "cluster": {
                    "servers": [{"count": SERVERS, "gpu": GPU}],
                    "network": {"capacity": CAPACITY, "latency": "20 us"},
                },
                "background": {"network": {"utilization": background, "mean_size": "1 MB", "scv": 1}},
                "workload": [{"model": MODEL, "rate": rate}],
                "simulation": {"jobs": settings.jobs, "replications": settings.replications},
                "schedulers": list(names),
            }
        )

    system = prepare(at_rate(1.0)).system
    return at_rate(LOAD * system.executors / float(system.queries[0].tasks.compute_s[0].sum()))


def _row(name: str, idle: SimulationResult, loaded: SimulationResult) -> NetworkViewRow:
    scheduler = get_scheduler(name)
    return NetworkViewRow(
        scheduler=name,
        view=scheduler.network_view.name,
        planned=scheduler.needs_placement,
        idle=_on_link(idle, name),
        loaded=_on_link(loaded, name),
        slowdown=_ratio(_means(loaded, name), _means(idle, name)),
    )


def _on_link(result: SimulationResult, name: str) -> OnLink:
    simulated = result.summaries[name].result
    return OnLink(
        state=simulated.state,
        jct_s=Estimate(mean=simulated.jct_s.mean, ci95=simulated.jct_s.ci95),
        to_local=_ratio(_means(result, name), _means(result, REFERENCE)),
        link=mean_interval([r.utilization_network for r in result.records[name]]).mean,
    )


def _means(result: SimulationResult, name: str) -> list[float]:
    """The mean JCT of each replication; none where there is no steady state."""
    if result.summaries[name].result.state == "overloaded":
        return []
    return Measured(result.records[name], ()).mean_jcts()


def _ratio(a: list[float], b: list[float]) -> Estimate:
    both = min(len(a), len(b))
    return paired_ratio(a[:both], b[:both]).estimate


def _about(settings: NetworkViewSettings, seconds: float) -> NetworkViewsAbout:
    return NetworkViewsAbout.like(
        settings,
        **made_by("network-views", settings),
        seconds=seconds,
        model=MODEL,
        servers=SERVERS,
        gpu=GPU,
        capacity=CAPACITY,
        load=LOAD,
        background=BACKGROUND,
    )
