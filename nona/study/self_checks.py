"""Quick self-checks of the program on this machine, with NetworkX as second opinion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from nona.cost.costing import cost_graph
from nona.decomposition import VIRTUAL, immediate_dominators
from nona.errors import NonaError
from nona.graph.dag import Dag, transitive_reduction
from nona.hardware.executor import executor_class
from nona.placement.fixed import local_placement
from nona.results.program import SelfCheck
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping
from nona.schedulers.registry import scheduler_names
from nona.simulation.compiled.build import is_ready
from nona.sources.samples import load_sample
from nona.study.models import prepare_model
from nona.study.placement_times import simulated
from nona.study.preparation import Study, prepare
from nona.study.race import SAME
from nona.study.simulation import SimulationResult, place, simulate

SOURCE = "source"


def graph_differences(dag: Dag) -> tuple[str, ...]:
    """Name the results that differ from NetworkX: order, dominators, transitive reduction.

    >>> graph_differences(Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)]))
    ()
    """
    import networkx as nx  # late: nothing else needs it

    other = nx.DiGraph()
    other.add_nodes_from(range(len(dag)))
    other.add_edges_from(dag.edges())
    place = {v: k for k, v in enumerate(dag.topological_order())}
    ordered = nx.is_directed_acyclic_graph(other) and all(place[u] < place[v] for u, v in other.edges)
    reduced = set(transitive_reduction(dag).edges()) == set(nx.transitive_reduction(other).edges)
    other.add_edges_from((SOURCE, v) for v in range(len(dag)) if not dag.predecessors[v])
    above = nx.immediate_dominators(other, SOURCE)
    wanted = tuple(VIRTUAL if above[v] == SOURCE else above[v] for v in range(len(dag)))
    dominated = immediate_dominators(dag) == wanted
    agrees = {"order": ordered, "transitive reduction": reduced, "dominators": dominated}
    return tuple(what for what, same in agrees.items() if not same)


JOBS, SEED = 60, 5
MODEL = "googlenet"  # a sample with sub-graphs to split
SMALL: Mapping[str, Any] = MappingProxyType(
    {
        "version": 1,
        "name": "Self-check",
        "seed": SEED,
        "cluster": {"servers": [{"count": 3}], "network": {"capacity": "10 Gbit/s"}},
        "background": {"compute": {"utilization": 0.1}, "network": {"utilization": 0.2}},
        "workload": [
            {"model": "slides_example", "rate": "20/s", "service_scv": 0.3},
            {"model": MODEL, "rate": "200/s", "slo": "4 ms"},
        ],
        "simulation": {"jobs": JOBS, "replications": 1, "warmup": 12},
    }
)


def self_checks() -> Iterator[SelfCheck]:
    """Every check of this machine in sequence; an error within a check is its result."""
    scenario = scenario_from_mapping({**SMALL, "schedulers": list(scheduler_names())})
    study = prepare(scenario)
    once = simulate(study, engine="simpy")
    yield from _runs(once)
    for check in (
        lambda: _engines(study, once),
        lambda: _again(study, once),
        lambda: _placement(study),
        _contraction,
        _second_opinion,
        lambda: _round_trip(study),
    ):
        yield _tried(check)


SELF_CHECKS = 11  # how many :func:`self_checks` gives


def _tried(check: Callable[[], SelfCheck]) -> SelfCheck:
    try:
        return check()
    except NonaError as error:
        return SelfCheck(name="A check stopped with an error", ok=False, found=str(error))


def _runs(result: SimulationResult) -> Iterator[SelfCheck]:
    names = dict.fromkeys(c.name for s in result.summaries.values() for c in s.checks)
    for name in names:
        checks = {n: next(c for c in s.checks if c.name == name) for n, s in result.summaries.items()}
        failed = [f"{n}: {c.detail}" for n, c in checks.items() if not c.ok]
        first = next(iter(checks.values())).detail
        yield SelfCheck(
            name=f"{name[0].upper()}{name[1:]} in every run",
            ok=not failed,
            found="; ".join(failed) if failed else f"{len(checks)} schedulers; the first: {first}",
        )


def _digests(result: SimulationResult) -> dict[str, tuple[str, ...]]:
    return {n: tuple(str(r.digest()) for r in runs) for n, runs in result.records.items()}


def _engines(study: Study, once: SimulationResult) -> SelfCheck:
    name = "Both engines give the same records, bit for bit"
    if not is_ready():
        return SelfCheck(
            name=name, ok=None, found="The compiled engine is not ready yet; try again in a minute."
        )
    other = _digests(simulate(study, engine="compiled"))
    wrong = [n for n, digest in _digests(once).items() if digest != other[n]]
    return SelfCheck(
        name=name,
        ok=not wrong,
        found=f"they differ for {', '.join(wrong)}" if wrong else f"{len(other)} schedulers",
    )


def _again(study: Study, once: SimulationResult) -> SelfCheck:
    again = _digests(simulate(study, engine="simpy"))
    wrong = [n for n, digest in _digests(once).items() if digest != again[n]]
    return SelfCheck(
        name="The same seed gives the same bytes again",
        ok=not wrong,
        found=f"they differ for {', '.join(wrong)}" if wrong else f"seed {SEED}, {len(again)} schedulers",
    )


def _placement(study: Study) -> SelfCheck:
    placement, local = place(study), simulated(study.system, local_placement(study.system))
    return SelfCheck(
        name="A placement is as fast as local, or faster",
        ok=placement.objective_s <= local.objective_s * (1 + SAME["mean-jct"]),
        found=f"{placement.objective_s:.6g} s and {local.objective_s:.6g} s, simulated",
    )


def _contraction() -> SelfCheck:
    graph, executor = load_sample(MODEL), executor_class("a100-40gb")
    before = cost_graph(graph, executor).critical_path_s
    tasks = prepare_model(graph, (executor,)).tasks
    after = tasks.dag.critical_path(tasks.compute_s[0].tolist())[0]
    return SelfCheck(
        name="Contraction keeps the critical path",
        ok=bool(np.isclose(before, after, rtol=1e-9)),
        found=f"{MODEL}: {before:.9g} s before, {after:.9g} s after",
    )


def _second_opinion() -> SelfCheck:
    dag = load_sample(MODEL).dag
    wrong = graph_differences(dag)
    return SelfCheck(
        name="Order, dominators and reduction of a graph are those of NetworkX",
        ok=not wrong,
        found=f"they differ in {', '.join(wrong)}" if wrong else f"{MODEL}: {len(dag)} operators",
    )


def _round_trip(study: Study) -> SelfCheck:
    again = parse_scenario(dump_scenario(study.scenario))
    return SelfCheck(
        name="A scenario is unchanged after writing and reading",
        ok=again == study.scenario,
        found="YAML, all keys",
    )
