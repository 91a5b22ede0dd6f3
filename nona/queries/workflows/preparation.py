"""From a scenario to a system: links, and every model read, costed, contracted."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

import numpy as np

from nona.cluster.hardware.cluster import Cluster
from nona.cluster.hardware.device import devices
from nona.core.errors import ScenarioError, suggestion
from nona.core.family import families
from nona.core.registry import load
from nona.core.text import join_words
from nona.models.cost.costed import CostedGraph, interval
from nona.models.cost.measured import ANY, MeasuredTable, read_measured
from nona.models.cost.options import CostOptions
from nona.models.cost.stated import measured_warnings
from nona.models.prepared import PreparedModel, prepare_model
from nona.models.times_report import LEVEL, TAKEN, no_verdict
from nona.queries.placement.link_routes import link_between
from nona.queries.placement.messages import PlacementLink
from nona.queries.system import NO_BACKGROUND, BackgroundStream, QueryClass, System
from nona.queries.workflows.cache import (
    PreparationCache,
    batch_key,
    model_key,
    once_per_model,
    preparation_key,
)
from nona.queries.workflows.pools import (
    capacity_of,
    copies_bytes,
    estimated_rate,
    pools_of,
    stage_batching_of,
)
from nona.queries.workflows.rows import batching_of, given_graph, held_bytes, memory_problem
from nona.queries.workflows.traffic import arrivals_of, network_background, topology_of
from nona.scenario.arrivals import effective_rate
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario, WorkloadRow
from nona.scenario.values import NamedSpec


def placement_link(cluster: Cluster) -> PlacementLink:
    """Return the link between servers, routed over cards and racks where the cluster has them."""
    network = cluster.network
    servers = np.bincount([e.server for e in cluster.executors], minlength=cluster.servers)
    return link_between(
        network.capacity,
        network.latency_s,
        network.discipline,
        topology_of(cluster),
        servers / servers.sum(),
    )


class BatchMemoryError(ScenarioError):
    """The largest batch of a row fits no executor."""


_NO_SOURCES = Sources()


@dataclass(frozen=True, eq=False)
class PreparedSystem:
    """A prepared scenario: its cluster, its models, and the system they form.

    ``key`` stands for all that a placement depends on; empty when prepared without a cache. ``left_out`` are
    schedulers of the scenario that cannot run here.
    """

    scenario: Scenario
    cluster: Cluster
    models: tuple[PreparedModel, ...]
    system: System
    key: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def schedulers(self) -> tuple[NamedSpec, ...]:
        """The scenario's schedulers that run here, with their options."""
        return tuple(entry for entry in self.scenario.schedulers if entry.name not in self.left_out)


def prepare(
    scenario: Scenario, sources: Sources = _NO_SOURCES, cache: PreparationCache | None = None
) -> PreparedSystem:
    """Read, cost, contract and decompose every model of a scenario.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    sources : Sources, optional
        Where its files are; by default the shipped samples only.
    cache : PreparationCache, optional
        Models that it knows by their content are taken from there.

    Returns
    -------
    PreparedSystem
        The scenario's cluster, its models, and the system they form.

    Raises
    ------
    NonaError
        For a missing or bad model, an impossible MIG layout, an unknown device, or a batch that fits
        nowhere.
    """
    check_has_queries(scenario)
    sources.check(scenario)
    cluster = scenario.cluster.build()
    measured = read_measured(sources.read(scenario.cost.measured)) if scenario.cost.measured else None

    def prepare_row(row: WorkloadRow) -> PreparedModel:
        return _prepare_row(row, scenario, sources, cluster, measured)

    if cache is None:
        models, key = once_per_model(scenario, prepare_row), ""
    else:
        kept, key = cache.models, preparation_key(scenario, sources)
        models = once_per_model(
            scenario,
            lambda row: kept.get(model_key(row, scenario, sources), lambda: prepare_row(row)),
        )
    if measured is not None:
        _check_measured(measured, scenario, models, cluster)
    rows = zip(scenario.labels, map(scenario.batching_of, scenario.workload), models, strict=True)
    if problems := [line for row in rows if (line := memory_problem(*row, cluster.classes))]:
        raise BatchMemoryError(problems)
    system = _system(scenario, cluster, models, sources)
    left_out = _that_pick(scenario) if system.pools else ()
    prepared = PreparedSystem(scenario, cluster, models, system, key, left_out)
    if left_out and not prepared.schedulers:
        raise ScenarioError(
            [f"schedulers: {picks_in_vain(left_out)}; add one that can run, such as least-loaded."]
        )
    return prepared


def _that_pick(scenario: Scenario) -> tuple[str, ...]:
    from nona.queries.schedulers.registry import get_scheduler  # the registry imports all schedulers

    return tuple(entry.name for entry in scenario.schedulers if get_scheduler(entry.name).picks)


def picks_in_vain(schedulers: Sequence[str]) -> str:
    """Say why these schedulers do not run where instances take tasks from queues."""
    they = "it picks" if len(schedulers) == 1 else "they pick"
    return (
        f"{join_words(schedulers)} cannot run here: {they} tasks for free executors, but instances take "
        "tasks from queues"
    )


def _check_measured(
    measured: MeasuredTable, scenario: Scenario, models: Sequence[PreparedModel], cluster: Cluster
) -> None:
    """Refuse a table with rows that seem meant for this scenario and match nothing in it."""
    names = {m.costed[0].graph.name for m in models}
    all_devices, classes = {**devices(), **cluster.devices}, sorted(cluster.classes)
    here = {name.partition("/")[0] for name in classes}
    fits = any(row.device in cluster.classes for row in measured.rows)
    alike = {_letters(name): name for name in names}
    problems: dict[str, None] = {}
    for row in measured.rows:
        base = row.device.partition("/")[0]
        if base != ANY and base not in all_devices:
            problems[f"device {base!r} is unknown; {suggestion(base.lower(), all_devices)}"] = None
        elif base in here and not fits:
            problems[f"no executor is {row.device!r}; {suggestion(row.device, classes)}"] = None
        if row.model not in names and _letters(row.model) in alike:
            problems[f"no model is called {row.model!r}; use {alike[_letters(row.model)]}"] = None
    if not problems and not any(row.model in (ANY, *names) for row in measured.rows):
        first = measured.rows[0].model
        problems[f"no row is of a model here, the first is of {first!r}; {suggestion(first, names)}"] = None
    for kind in cluster.classes.values():
        by_model: dict[str, list[tuple[str, ...]]] = {}
        for wanted, model in zip(scenario.workload, models, strict=True):
            graph, options = model.costed[0].graph, _options(scenario, wanted)
            by_model.setdefault(graph.name, []).append(measured_warnings(graph, kind, options, measured))
        problems |= {line: None for lines in by_model.values() if all(lines) for line in lines[0]}
    if problems:
        raise ScenarioError([f"cost.measured: {line}." for line in list(problems)[:MOST_PROBLEMS]])


def _options(scenario: Scenario, row: WorkloadRow) -> CostOptions:
    return CostOptions(scenario.cost.stack, scenario.cost.precision, row.batch)


MOST_PROBLEMS = 8


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def check_counted(prepared: PreparedSystem) -> None:
    """Refuse to decide where much of a model's work is not known.

    Raises ``ScenarioError`` in one line for each such model.
    """
    labels = zip(prepared.scenario.labels, prepared.models, strict=True)
    parts = ((name, m.costed[0].uncounted, m.costed[0].with_work) for name, m in labels)
    if lines := [line for part in parts if (line := no_verdict(*part))]:
        raise ScenarioError(lines)


def check_has_queries(scenario: Scenario) -> None:
    """Refuse a scenario without a workload of task graphs.

    Raises ``ScenarioError`` in one line; of a scenario with training jobs or language models it names the
    command for these.
    """
    if not scenario.workload and scenario.language:
        raise ScenarioError(
            [
                "workload: all of its rows ask language models; use `nona simulate`, or add a row with a "
                "model, and a server without an engine."
            ]
        )
    if not scenario.workload:
        training = "" if scenario.training is None else ", or run the jobs with `nona training simulate`"
        raise ScenarioError([f"workload: must have at least 1 entry; add one{training}."])


def _prepare_row(
    row: WorkloadRow,
    scenario: Scenario,
    sources: Sources,
    cluster: Cluster,
    measured: MeasuredTable | None,
) -> PreparedModel:
    graph = given_graph(
        sources.model(row.model, row.symbols, scenario.models), row.model, scenario.cost, cluster.devices
    )
    options = _options(scenario, row)
    classes = tuple(cluster.classes.values())
    largest, per_query = batch_key(row, scenario)
    options = replace(options, per_query=per_query)
    rule = None if row.stages else scenario.contraction
    return prepare_model(graph, classes, options, rule, measured, cluster.devices, largest)


def _system(
    scenario: Scenario, cluster: Cluster, models: Sequence[PreparedModel], sources: Sources
) -> System:
    names = list(cluster.classes)
    compute, network = scenario.background.compute, scenario.background.network
    link = cluster.network
    arrivals = [arrivals_of(scenario, i, sources) for i in range(len(scenario.workload))]
    batching = [scenario.batching_of(row) for row in scenario.workload]
    topology, others = topology_of(cluster), _messages_of_others(scenario, sources)
    background = network_background(network, link.capacity)
    queries = tuple(
        QueryClass(
            name=label,
            tasks=model.tasks,
            decomposition=model.decomposition,
            rate=effective_rate(process, row.rate),
            slo_s=row.slo,
            arrivals=process,
            service_scv=row.service_scv,
            weight_bytes=held_bytes(spec, model) + copies_bytes(scenario, cluster, row, model),
            replica=str(row.model),
            batching=batching_of(spec, model),
            stage_batching=stage_batching_of(scenario, row, model),
            capacity=capacity_of(scenario, cluster, row, model),
            users=row.concurrency or 0,
            think_s=row.think,
        )
        for label, row, spec, model, process in zip(
            scenario.labels, scenario.workload, batching, models, arrivals, strict=True
        )
    )
    part = len(cluster.executors) / len(queries)
    return System(
        executor_server=np.array([e.server for e in cluster.executors], dtype=np.int64),
        executor_class=np.array([names.index(e.executor_class) for e in cluster.executors], dtype=np.int64),
        class_names=tuple(names),
        capacity=link.capacity,
        latency_s=link.latency_s,
        discipline=link.discipline,
        background_compute=BackgroundStream(
            compute.utilization / compute.mean_service, compute.mean_service, compute.scv
        ),
        background_network=background
        if topology
        else reduce(BackgroundStream.merged_with, others.values(), background),
        queries=tuple(replace(q, rate=_rate_of_users(q, part)) if q.users else q for q in queries),
        seed=scenario.seed,
        topology=topology,
        messages=tuple(others.get(name, NO_BACKGROUND) for name in topology.link_names) if topology else (),
        class_memory_bytes=np.array([c.memory_bytes for c in cluster.classes.values()]),
        pools=pools_of(scenario, cluster, models, names),
    )


def _rate_of_users(query: QueryClass, executors: float) -> float:
    work_s = float(query.load_s.sum(axis=1).min())
    return estimated_rate(query.users, query.think_s, query.alone_s, work_s, executors)


def _messages_of_others(scenario: Scenario, sources: Sources) -> Mapping[str, BackgroundStream]:
    """Return the messages of other families over each link, by its name."""
    others = [load(f.messages) for f in families() if f.messages and getattr(scenario, f.name)]
    return ChainMap(*(messages(scenario, sources) for messages in others))


Times = Literal["short", "stated", "long"]


def with_times_off(prepared: PreparedSystem, times: Literal["short", "long"]) -> PreparedSystem:
    """Return the prepared system with every modelled time at the lower or the upper end of its interval.

    All errors are taken to have the same sign, as those of one cost model share their cause: that is the
    widest case. Given and measured times, rates, transfers, background and SLOs stay.
    """
    queries = []
    for query, model in zip(prepared.system.queries, prepared.models, strict=True):
        compute_s = np.array([model.contracted.sum_over_tasks(_times_s(c, times)) for c in model.costed])
        factor = compute_s / np.where(query.tasks.compute_s > 0, query.tasks.compute_s, 1.0)
        steps = query.batching and replace(query.batching, step_s=query.batching.step_s * factor)
        queries.append(replace(query, tasks=replace(query.tasks, compute_s=compute_s), batching=steps))
    return replace(prepared, system=replace(prepared.system, queries=tuple(queries)), key="")


def _times_s(costed: CostedGraph, times: Literal["short", "long"]) -> list[float]:
    end = ("short", "long").index(times)
    return [
        c.compute_s
        if c.provenance in TAKEN
        else interval(c.compute_s, c.provenance, LEVEL, costed.sliced)[end]
        for c in costed.costs
    ]
