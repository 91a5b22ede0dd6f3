"""Pools: queues from which several instances take tasks, and the GPUs that instances share.

Without pools every executor is one instance with a queue of its own. Instances on one GPU run at once, each
at a speed that depends on how many of them are busy (no isolation: not MPS, not MIG).

Sources: Triton inference server, ``instance_group`` and one queue a model (documentation, read); processor
sharing with a limit is the usual model of it, e.g. Kleinrock, Queueing Systems II, 1976, section 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Pools:
    """I instances in pools; a pool has the number of its first instance. The first E are those of executors.

    ``pool`` (I,): the pool from whose queue each instance takes.
    ``gpu`` (I,): the instance that stands for its GPU: an executor, or itself for a process of the host.
    ``server``, ``kind`` (I,): server of each instance, and the executor class whose times hold there.
    ``joins`` (T, E): the pool that a task joins when it is bound to an executor; the tasks of all query
        classes are numbered through.
    ``speed`` (I, J): of each of 1, …, J busy instances on the GPU for which an instance stands.
    ``stages``: pools with tasks of their own, for people: (row, stage, pool).
    """

    pool: Ints
    gpu: Ints
    server: Ints
    kind: Ints
    joins: Ints
    speed: Floats
    stages: tuple[tuple[str, str, int], ...] = ()

    def title(self, instance: int) -> str:
        """Name for people: the stage that it runs, its number in its pool, and what it runs on."""
        pool, gpu = int(self.pool[instance]), int(self.gpu[instance])
        number = int(np.flatnonzero(self.pool == pool).tolist().index(instance)) + 1
        stage = next((stage or row for row, stage, at in self.stages if at == pool), "instance")
        return f"{stage} {number} · CPU" if gpu == instance else f"{stage} {number} · executor {gpu}"

    @property
    def board(self) -> Ints:
        """(I,) The executor whose load the tasks of an instance's pool count for.

        Its GPU; of processes of the host the first executor of their server.
        """
        executors = self.joins.shape[1]
        _, first_on = np.unique(self.server[:executors], return_index=True)
        gpus = self.gpu[self.pool]
        on_server = first_on[np.searchsorted(np.unique(self.server[:executors]), self.server[self.pool])]
        return np.where(gpus < executors, gpus, on_server)

    @property
    def shared(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """(I,) Whether an instance has a pool or a GPU together with others."""
        pools, gpus = np.bincount(self.pool), np.bincount(self.gpu)
        on_shared = (pools[self.pool] > 1) | (gpus[self.gpu] > 1)
        return np.isin(self.pool, self.pool[on_shared])


def single_pools(server: Ints, kind: Ints, tasks: int) -> Pools:
    """Return the pools of executors that run one task at a time, each with a queue of its own."""
    own = np.arange(len(server), dtype=np.int64)
    return Pools(own, own, server, kind, np.tile(own, (tasks, 1)), np.ones((len(server), 1)))


def speed_table(speeds: Sequence[Sequence[float]], most: Sequence[int]) -> Floats:
    """Return the speed of each of j busy instances, shape (GPUs, J): as given; beyond n, n · speed(n) / j.

    ``speeds``: of each GPU, for 1, …, n busy instances; empty: 1/j. ``most``: the instances on each.

    >>> speed_table([(), (1.0, 0.6)], [2, 3]).round(3).tolist()
    [[1.0, 0.5, 0.333], [1.0, 0.6, 0.4]]
    """
    widest = max(most, default=1)
    rows = []
    for given in speeds:
        known = list(given) or [1.0]
        rows.append([*known, *(known[-1] * len(known) / j for j in range(len(known) + 1, widest + 1))])
    return np.array([row[:widest] for row in rows], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class StagePool:
    """Instances that take the tasks of some stage on one server.

    ``tasks``: numbers of the tasks, all query classes numbered through. ``gpus``: the executor of each
    instance, −1 for a process of the host.
    """

    row: str
    stage: str
    tasks: tuple[int, ...]
    server: int
    gpus: tuple[int, ...]


def make_pools(
    server: Ints,
    kind: Ints,
    tasks: int,
    most: Sequence[int],
    speeds: Sequence[Sequence[float]],
    stages: Iterable[StagePool],
) -> Pools:
    """Return the pools of executors on ``server`` (E,) of classes ``kind`` (E,), and of stages.

    ``most``, ``speeds``: of each executor, how many tasks it runs at once, and how fast. A task of a stage
    that has no pool on the server of its executor goes to one of its other pools, by turns.
    """
    executors = len(server)
    pool, gpu = list(range(executors)), list(range(executors))
    for e, count in enumerate(most):
        pool += [e] * (count - 1)
        gpu += [e] * (count - 1)
    joins = np.tile(np.arange(executors, dtype=np.int64), (tasks, 1))
    of_stage: dict[int, list[tuple[int, int]]] = {}  # task → (server, pool)
    names, own = [], {}
    for stage in stages:
        first = len(pool)
        names.append((stage.row, stage.stage, first))
        for at in stage.gpus:
            own[len(pool)] = stage.server
            gpu.append(at if at >= 0 else len(pool))
            pool.append(first)
        for task in stage.tasks:
            of_stage.setdefault(task, []).append((stage.server, first))
    for task, there in of_stage.items():
        by_server, numbers = dict(there), [number for _, number in there]
        for e in range(executors):
            joins[task, e] = by_server.get(int(server[e]), numbers[e % len(numbers)])
    first_on = {int(s): e for e, s in reversed(list(enumerate(server.tolist())))}
    servers = [own.get(i, int(server[gpu[i]]) if gpu[i] < executors else 0) for i in range(len(pool))]
    kinds = [int(kind[g] if g < executors else kind[first_on[s]]) for g, s in zip(gpu, servers, strict=True)]
    on_gpu = np.bincount(gpu, minlength=len(pool))
    all_speeds = [*speeds, *[()] * (len(pool) - executors)]
    return Pools(
        np.array(pool, dtype=np.int64),
        np.array(gpu, dtype=np.int64),
        np.array(servers, dtype=np.int64),
        np.array(kinds, dtype=np.int64),
        joins,
        speed_table(all_speeds, on_gpu.tolist()),
        tuple(names),
    )
