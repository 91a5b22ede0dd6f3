"""From a scenario to pools: instances of GPUs, stages and models, and what these change in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nona.cluster.hardware.cluster import Cluster
from nona.core.arrays import Floats
from nona.core.errors import ScenarioError, suggestion
from nona.models.prepared import PreparedModel
from nona.queries.pools import Pools, StagePool, make_pools, speed_table
from nona.queries.system import Batching
from nona.queries.workflows.rows import batching_of
from nona.scenario.rows import InstancesSpec, StageSpec
from nona.scenario.schema import Scenario, WorkloadRow

_ONE = InstancesSpec(most=1)


@dataclass(frozen=True, slots=True)
class _Executors:
    """Of each executor: its server and GPU, its group in the scenario, how many tasks it runs at once."""

    server: tuple[int, ...]
    gpu: tuple[int, ...]
    group: tuple[int, ...]
    instances: tuple[InstancesSpec, ...]
    kind: tuple[str, ...]


def _executors(scenario: Scenario, cluster: Cluster) -> _Executors:
    groups = [number for number, g in enumerate(scenario.cluster.servers) if g.engine is None]
    of_server = [number for number in groups for _ in range(scenario.cluster.servers[number].count)]
    group = tuple(of_server[e.server] for e in cluster.executors)
    return _Executors(
        tuple(e.server for e in cluster.executors),
        tuple(e.gpu for e in cluster.executors),
        group,
        tuple(scenario.cluster.servers[g].instances or _ONE for g in group),
        tuple(e.executor_class for e in cluster.executors),
    )


def _has_instances(scenario: Scenario) -> bool:
    """Return whether some GPU runs several tasks at once."""
    return any(group.instances and group.instances.most > 1 for group in scenario.cluster.servers)


def pools_of(
    scenario: Scenario, cluster: Cluster, models: Sequence[PreparedModel], kinds: Sequence[str]
) -> Pools | None:
    """Return the pools of a scenario; ``None`` where each executor runs one task at a time from its queue.

    ``kinds``: names of the executor classes, in the order of the system.

    Raises ``ScenarioError`` for a stage that is no task of its model, or one of the host without a time.
    """
    if problems := [
        line
        for row, model in zip(scenario.workload, models, strict=True)
        for line in _stage_problems(scenario, row, model)
    ]:
        raise ScenarioError(problems)
    if not any(map(scenario.has_pools, scenario.workload)) and not _has_instances(scenario):
        return None
    executors = _executors(scenario, cluster)
    first = np.cumsum([0, *(len(m.tasks) for m in models)]).tolist()
    merged: dict[tuple[object, ...], tuple[str, str, StageSpec | None, list[int]]] = {}
    for label, row, model, at in zip(scenario.labels, scenario.workload, models, first, strict=False):
        number = {name: at + t for t, name in enumerate(model.tasks.task_ids)}
        if not scenario.has_pools(row):
            continue
        parts: dict[str, tuple[StageSpec | None, list[int]]]
        parts = {name: (spec, [number[name]]) for name, spec in row.stages.items() if spec.has_pool}
        if not row.stages:
            parts = {"": (None, list(number.values()))}
        for name, (spec, tasks) in parts.items():
            key = (row.model, name, spec and spec.model_dump_json(), row.queue)
            merged.setdefault(key, (label, name, spec, []))[3].extend(tasks)
    stages = []
    for (*_, queue), (label, name, spec, tasks) in merged.items():
        for server in sorted(set(executors.server)):
            gpus = _instances_on(server, executors, spec)
            parts_of = [gpus] if queue != "executor" else [(gpu,) for gpu in gpus]
            stages += [StagePool(label, name, tuple(tasks), server, part) for part in parts_of if part]
    return make_pools(
        np.array(executors.server, dtype=np.int64),
        np.array([kinds.index(k) for k in executors.kind], dtype=np.int64),
        first[-1],
        [i.most for i in executors.instances],
        [i.speed for i in executors.instances],
        stages,
    )


def _counts(executors: _Executors, spec: StageSpec | None) -> tuple[int, ...]:
    """Return how many instances of a stage each executor has; without a pool all that it runs at once."""
    if spec is None or not spec.has_pool:
        return tuple(instances.most for instances in executors.instances)
    return tuple(map(spec.instances_on, executors.group, executors.gpu))


def _instances_on(server: int, executors: _Executors, spec: StageSpec | None) -> tuple[int, ...]:
    """Return the executor of each instance of a stage on a server, −1 for a process of the host."""
    if spec is not None and spec.cpu is not None:
        return (-1,) * spec.cpu
    counts = zip(executors.server, _counts(executors, spec), strict=True)
    return tuple(e for e, (at, count) in enumerate(counts) if at == server for _ in range(count))


def _stage_problems(scenario: Scenario, row: WorkloadRow, model: PreparedModel) -> list[str]:
    lines = []
    for name, spec in row.stages.items():
        where = f"stages of {row.label!r}"
        if name not in model.tasks.task_ids:
            hint = suggestion(name, model.tasks.task_ids)
            lines.append(f"{where}: {name!r} is no task of the model; {hint}.")
        elif spec.cpu is not None and not _has_time(model, name):
            lines.append(
                f"{where}: cpu of {name!r} needs a time, and the only one is modelled for GPUs; state a time "
                "in the model's file or in cost.measured."
            )
    return lines


def _has_time(model: PreparedModel, task: str) -> bool:
    return all(
        cost.provenance in ("given", "measured")
        for costed in model.costed
        for cost in costed.costs
        if cost.id == task
    )


def capacity_of(
    scenario: Scenario, cluster: Cluster, row: WorkloadRow, model: PreparedModel
) -> Floats | None:
    """(classes, T) How many of each task an executor runs in the time of one; ``None`` where it is one.

    Of the executors of a class the least.
    """
    if not row.stages and not _has_instances(scenario):
        return None
    executors = _executors(scenario, cluster)
    found = np.full((len(cluster.classes), len(model.tasks)), np.inf)
    classes = list(cluster.classes)
    for t, name in enumerate(model.tasks.task_ids):
        spec = row.stages.get(name)
        if spec is not None and spec.cpu is not None:
            continue
        counts = _counts(executors, spec)
        for kind, count, instances in zip(executors.kind, counts, executors.instances, strict=True):
            if count:
                gain = count * float(speed_table([instances.speed], [count])[0, -1])
                k = classes.index(kind)
                found[k, t] = min(found[k, t], gain)
        absent = [classes.index(kind) for kind in set(executors.kind)]
        found[absent, t] = np.where(np.isinf(found[absent, t]), 1.0, found[absent, t])
    return found


def stage_batching_of(
    scenario: Scenario, row: WorkloadRow, model: PreparedModel
) -> Mapping[int, Batching | None]:
    """Return by task the batching of stages that have their own."""
    ids = {name: t for t, name in enumerate(model.tasks.task_ids)}
    own = {ids[name]: spec.batching for name, spec in row.stages.items() if spec.batching and name in ids}
    return {t: None if spec.max_batch == 1 else batching_of(spec, model) for t, spec in own.items()}


def copies_bytes(scenario: Scenario, cluster: Cluster, row: WorkloadRow, model: PreparedModel) -> float:
    """Bytes of weights that an executor holds beside one copy of each task: those of the fullest one.

    Each instance of a stage has its own copy; a stage without an instance on an executor has none there.
    """
    if not row.stages and not _has_instances(scenario):
        return 0.0
    executors = _executors(scenario, cluster)
    names, sizes = model.tasks.task_ids, model.tasks.weight_bytes
    copies = np.array([_counts(executors, row.stages.get(name)) for name in names], dtype=np.float64)
    return float(((copies.T - 1.0) @ sizes).max())


def estimated_rate(users: int, think_s: float, alone_s: float, work_s: float, executors: float) -> float:
    """Estimate the queries per second that users of a closed loop may send, for the formula.

    Parameters
    ----------
    users : int
        Users of the loop, N.
    think_s : float
        Pause of a user between two queries, seconds.
    alone_s : float
        Seconds of a query alone, R.
    work_s : float
        Seconds of an executor that a query takes.
    executors : float
        Executors that the row may take.

    Returns
    -------
    float
        Queries per second: the least of N/(R + think) and 0.8 of what the executors carry.

    Examples
    --------
    >>> estimated_rate(8, 1.0, 1.0, 2.0, 100.0), estimated_rate(1000, 0.0, 1.0, 2.0, 10.0)
    (4.0, 4.0)
    """
    most = 0.8 * executors / work_s if work_s > 0 else np.inf
    asked = users / (alone_s + think_s) if alone_s + think_s > 0 else np.inf
    return float(min(asked, most, 1e9))
