"""Fixed placements: local, spread, and the presets of an expert.

A preset labels the tasks of an interior: 0 stays on the root's server, equal other labels share a
server of their own. The sink stays with the root. Where there are fewer servers than labels, tasks
are distributed over them in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count

import numpy as np

from nona.core.arrays import Floats
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import SubGraph
from nona.queries.placement.capacity import default_shares
from nona.queries.placement.configurations import (
    connected,
    local_configuration,
    server_slots,
    spread_configuration,
    to_configuration,
)
from nona.queries.placement.prediction import predict
from nona.queries.placement.result import Configuration, Placement, SubGraphPlacement
from nona.queries.system import BackgroundStream, QueryClass, System


def local_placement(system: System, shares: Floats | None = None) -> Placement:
    """Place every job on one executor.

    No messages are sent. Without background each executor is an exact M/G/1 queue.

    Parameters
    ----------
    system : System
        The cluster and its query classes.
    shares : array of shape (J, K), optional
        Probability of each of K executor classes for each of J query classes. By default every executor
        that holds the model's weights is drawn alike.

    Returns
    -------
    Placement
        The placement with its prediction.
    """
    if shares is None:
        return _by_default(system, "local", _one_server, ())
    return _fixed(system, "local", _one_server, (), shares)


def _one_server(subgraph: SubGraph, _slots: int) -> Configuration:
    return local_configuration(subgraph)


def spread_placement(system: System, shares: Floats | None = None) -> Placement:
    """Place every interior task on a server of its own.

    Root and sink stay on the job's first server. Where servers are too few, tasks are distributed in turn.

    Parameters
    ----------
    system : System
        The cluster and its query classes.
    shares : array of shape (J, K), optional
        As for :func:`local_placement`.

    Returns
    -------
    Placement
        The placement with its prediction.
    """
    slots = server_slots(system)
    widest = max((len(s.interior) for q in system.queries for s in q.decomposition.subgraphs), default=0)
    note = (
        (f"Spread: an interior of {widest} tasks is distributed round robin over {slots} servers.",)
        if widest >= slots
        else ()
    )
    if shares is None:
        return _by_default(system, "spread", spread_configuration, note)
    return _fixed(system, "spread", spread_configuration, note, shares)


@lru_cache(maxsize=8)
def _by_default(
    system: System, name: str, choose: Callable[[SubGraph, int], Configuration], notes: tuple[str, ...]
) -> Placement:
    return _fixed(system, name, choose, notes, default_shares(system))


def _fixed(
    system: System,
    name: str,
    choose: Callable[[SubGraph, int], Configuration],
    notes: tuple[str, ...],
    shares: Floats | None,
) -> Placement:
    began = time.perf_counter()
    slots = server_slots(system)
    queries = tuple(
        tuple(SubGraphPlacement(s, (choose(s, slots),), np.ones(1)) for s in q.decomposition.subgraphs)
        for q in system.queries
    )
    prediction = predict(system, queries, shares)
    return Placement(
        queries,
        prediction,
        origin=name,
        seconds=time.perf_counter() - began,
        notes=notes,
        class_shares=shares,
    )


Labels = list[int]
_RARE = 1e-9  # queries per second at which no query waits


@dataclass(frozen=True, slots=True)
class PresetInputs:
    """The inputs of the presets by task: time, and (other end, tensor) of the edges in and out."""

    time_s: list[float]
    into: list[list[tuple[int, int]]]
    out: list[list[tuple[int, int]]]
    tensor_bytes: list[float]

    def moved_bytes(self, part: set[int]) -> float:
        """Bytes in and out of ``part`` if it had a server of its own; a tensor counts once each way."""
        inward = {k for t in part for source, k in self.into[t] if source not in part}
        outward = {k for t in part for target, k in self.out[t] if target not in part}
        return sum(self.tensor_bytes[k] for k in (*sorted(inward), *sorted(outward)))


def traffic_of(tasks: TaskGraph) -> PresetInputs:
    """Return the traffic of a task graph; times are means over the executor classes."""
    into: list[list[tuple[int, int]]] = [[] for _ in range(len(tasks))]
    out: list[list[tuple[int, int]]] = [[] for _ in range(len(tasks))]
    columns = (tasks.edge_source.tolist(), tasks.edge_target.tolist(), tasks.edge_tensor.tolist())
    for source, target, tensor in zip(*columns, strict=True):
        into[target].append((source, tensor))
        out[source].append((target, tensor))
    return PresetInputs(tasks.compute_s.mean(axis=0).tolist(), into, out, tasks.tensor_bytes.tolist())


def local(traffic: PresetInputs, interior: Sequence[int]) -> Labels:
    """Everything on the root's server."""
    return [0] * len(interior)


def spread(traffic: PresetInputs, interior: Sequence[int]) -> Labels:
    """Every interior task on a server of its own, none on the root's."""
    return list(range(1, len(interior) + 1))


def _keep_heaviest(traffic: PresetInputs, interior: Sequence[int]) -> Labels:
    """Spread the tasks, but leave the task that would move the most bytes on the root's server."""
    home = max(interior, key=lambda t: traffic.moved_bytes({t}), default=-1)
    others = count(1)
    return [0 if t == home else next(others) for t in interior]


def _half(traffic: PresetInputs, interior: Sequence[int]) -> Labels:
    """Two halves of nearly equal compute time; the one that would move more bytes stays.

    Independent branches (connected components of the interior) are kept whole and distributed,
    longest first, to the half that is shorter. A single branch is not cut: that is ``local``.
    """
    halves: tuple[set[int], set[int]] = (set(), set())
    filled = [0.0, 0.0]
    timed = [(sum(traffic.time_s[t] for t in b), b) for b in branches_of(traffic, interior)]
    for time_s, branch in sorted(timed, key=lambda x: (-x[0], x[1])):
        shorter = 0 if filled[0] <= filled[1] else 1
        halves[shorter].update(branch)
        filled[shorter] += time_s
    home = max(halves, key=traffic.moved_bytes)
    return [0 if t in home else 1 for t in interior]


def branches_of(traffic: PresetInputs, interior: Sequence[int]) -> list[tuple[int, ...]]:
    """Return connected components of the interior, each in topological order."""
    return connected(interior, ((t, n) for t in interior for n, _ in traffic.out[t]))


PRESETS: Mapping[str, Callable[[PresetInputs, Sequence[int]], Labels]] = {
    "local": local,
    "spread": spread,
    "keep-heaviest": _keep_heaviest,
    "half": _half,
}


def fixed(system: System, subgraph: SubGraph, labels: Sequence[int]) -> SubGraphPlacement:
    """Return the distribution with one configuration, that of ``labels``, as far as the servers allow."""
    others = server_slots(system) - 1
    dealt = [1 + (v - 1) % others if v > 0 and others > 0 else 0 for v in labels]
    return SubGraphPlacement(subgraph, (to_configuration([*dealt, 0], subgraph.interior),), np.ones(1))


def place_fixed(system: System, query: QueryClass, preset: str) -> tuple[SubGraphPlacement, ...]:
    """Return the preset's configuration for each sub-graph of a query class."""
    label, traffic = PRESETS[preset], traffic_of(query.tasks)
    return tuple(fixed(system, s, label(traffic, s.interior)) for s in query.decomposition.subgraphs)


def idle_presets(system: System) -> tuple[str, ...]:
    """For each query class the preset with the least predicted JCT when it is alone and rare.

    Ties go to the preset named first in :data:`PRESETS`.
    """
    quiet = replace(system, background_compute=BackgroundStream(), background_network=BackgroundStream())
    chosen = []
    for query in system.queries:
        alone = replace(quiet, queries=(replace(query, rate=_RARE),))
        jct_s = {name: predict(alone, [place_fixed(alone, query, name)]).mean_s for name in PRESETS}
        chosen.append(min(PRESETS, key=jct_s.__getitem__))
    return tuple(chosen)
