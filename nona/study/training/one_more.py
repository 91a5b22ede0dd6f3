"""What one more GPU of each type buys: the same jobs on each of the larger clusters."""

from __future__ import annotations

from collections.abc import Callable

from nona.errors import SimulationError
from nona.planning.prices import prices_of
from nona.results.training.one_more import OneMoreReport, OneMoreRow
from nona.results.training.report import PolicyOutcome
from nona.scenario.schema import Scenario, ServerGroupSpec
from nona.sources.lookup import Sources
from nona.study.training.run import report_of, simulate_training_scenario
from nona.training.engine.options import TrainingProgress

_NO_SOURCES = Sources()
Told = Callable[[float, str], None]


def one_more_gpu(
    scenario: Scenario, policy: str, sources: Sources = _NO_SOURCES, on_progress: Told | None = None
) -> OneMoreReport:
    """Simulate ``policy`` on the scenario's cluster, and with a server of one more GPU of each type.

    All runs have the same jobs and random numbers. ``on_progress`` gets the share that is done and the
    type of GPU, and may raise :class:`~nona.simulation.run.Cancelled`.

    Raises
    ------
    SimulationError
        When the scenario has no training part.
    """
    if scenario.training is None:
        raise SimulationError("Scenario: it has no key 'training'; add one.")
    groups = scenario.cluster.servers
    types = sorted({g.gpu for g in groups})
    prices = prices_of(types, scenario.training.prices)
    rows = []
    for number, gpu in enumerate(["", *types]):

        def told(progress: TrainingProgress, number: int = number, gpu: str = gpu) -> None:
            if on_progress is not None:
                done = (progress.replication + progress.fraction) / scenario.simulation.replications
                on_progress((number + min(1.0, done)) / (len(types) + 1), gpu)

        larger = with_one_more(scenario, gpu) if gpu else scenario
        result = simulate_training_scenario(larger, sources, policies=(policy,), on_progress=told)
        rows.append(_row(gpu, prices.get(gpu), report_of(result).policies[policy]))
    gpus = {t: sum(g.count * g.gpus for g in groups if g.gpu == t) for t in types}
    return OneMoreReport(policy=policy, gpus=gpus, base=rows[0], rows=tuple(rows[1:]))


def with_one_more(scenario: Scenario, gpu: str) -> Scenario:
    """The scenario with one more server of one GPU of that type, in the first region that has the type."""
    cluster, training = scenario.cluster, scenario.training
    servers = (*cluster.servers, ServerGroupSpec(count=1, gpu=gpu))
    update: dict[str, object] = {"cluster": cluster.model_copy(update={"servers": servers})}
    if training is not None and training.regions is not None:
        regions = training.regions
        has = {
            name: any(cluster.servers[n].gpu == gpu for n in held) for name, held in regions.groups.items()
        }
        home = max(has, key=lambda name: has[name])  # the first of them
        groups = {**regions.groups, home: (*regions.groups[home], len(cluster.servers))}
        in_regions = regions.model_copy(update={"groups": groups})
        update["training"] = training.model_copy(update={"regions": in_regions})
    return scenario.model_copy(update=update)


def _row(gpu: str, price_hour: float | None, p: PolicyOutcome) -> OneMoreRow:
    return OneMoreRow(
        gpu=gpu,
        price_hour=price_hour,
        mean_jct_s=p.jct_s.mean,
        ci95=p.jct_s.ci95,
        makespan_s=p.makespan_s,
        worst_rho=p.rho.worst,
        cost_usd=p.cost_usd,
    )
