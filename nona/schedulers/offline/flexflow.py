"""``flexflow``: a fixed placement per model, found by simulating the model alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.look import Look
from nona.options import number, whole
from nona.placement.capacity.memory import allowed_classes
from nona.placement.result.placement import Placement
from nona.random_streams import RandomStreams
from nona.schedulers.base import NetworkView, Prepared, Scheduler, View
from nona.schedulers.offline.cost import alone
from nona.schedulers.offline.search import Places, Walk, best_placement
from nona.schedulers.options import check_options
from nona.system import QueryClass, System

OWNER = "Scheduler 'flexflow'"
STEPS, MOST_STEPS = 1000, 1_000_000
ALPHA, MOST_ALPHA = 0.05, 1000.0

Ints = NDArray[np.int64]


class Offline(NamedTuple):
    """Q query classes, K executor classes, E executors.

    ``tasks`` (Q,). ``start`` (Q+1,) delimits in ``allowed`` the executors that can hold the model.
    ``pool_start`` (K+1,) delimits in ``pool`` the executors of each class, server by server. Executor e
    is there at ``rank`` of its class; those of its server begin at ``server_place`` and are
    ``server_size``. The tasks of query class q, begun on class k, go to the places
    ``place[place_start[q·K + k] + i]``, counted from there.
    """

    tasks: Ints
    start: Ints
    allowed: Ints
    pool_start: Ints
    pool: Ints
    rank: Ints
    server_place: Ints
    server_size: Ints
    place_start: Ints
    place: Ints
    classes: int


def decide(now: float, query: int, view: View, tables: Offline, u: Any, out: Any) -> None:
    """The model's placement, from an executor drawn among those that can hold the model.

    The places on its server are counted from it, round about; those beyond from the next server on.
    """
    first = tables.start[query]
    e = tables.allowed[first + int(u[0] * (tables.start[query + 1] - first))]
    k = view.executor_class[e]
    begin = tables.pool_start[k]
    size = tables.pool_start[k + 1] - begin
    home = tables.server_place[e]
    near = tables.server_size[e]
    places = tables.place_start[query * tables.classes + k]
    for i in range(tables.tasks[query]):
        place = tables.place[places + i]
        if place < near:
            place = (tables.rank[e] - home + place) % near
        out[i] = tables.pool[begin + (home + place) % size]


def searched(system: System, query: QueryClass, executor_class: int, walk: Walk) -> Places:
    """The placement of ``query`` on executors of one class, server by server, the first as server 0.

    As many executors as tasks are enough: no task gains from a second one of its own.
    """
    pool = _by_server(system, executor_class)
    near = pool[: len(query.tasks)]
    cost = alone(system, query, executor_class, system.executor_server[near].tolist())
    rng = RandomStreams(system.seed).generator("flexflow", query.name, system.class_names[executor_class])
    return best_placement(cost.completion_s, len(query.tasks), len(near), walk, rng)


def prepare(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    """A search for each model and each executor class that can hold it; options ``steps``, 1000 by default,
    and ``alpha``, 0.05 by default, see :class:`~nona.schedulers.offline.search.Walk`.

    Raises
    ------
    PlacementError
        When a model fits no executor.
    """
    check_options("flexflow", options, known=("steps", "alpha"))
    given = {"steps": STEPS, "alpha": ALPHA, **options}
    walk = Walk(whole(OWNER, given, "steps", most=MOST_STEPS), number(OWNER, given, "alpha", most=MOST_ALPHA))
    may, classes = allowed_classes(system), len(system.class_names)
    rows = [np.flatnonzero(row[system.executor_class]) for row in may]
    found = [
        searched(system, q, k, walk) if may[j, k] and system.class_counts[k] else ()
        for j, q in enumerate(system.queries)
        for k in range(classes)
    ]
    pools = [_by_server(system, k) for k in range(classes)]
    rank, server_place, server_size = _on_servers(system, pools)
    return Prepared(
        Offline(
            tasks=np.array([len(q.tasks) for q in system.queries], dtype=np.int64),
            start=_borders(rows),
            allowed=np.concatenate(rows).astype(np.int64),
            pool_start=_borders(pools),
            pool=np.concatenate(pools).astype(np.int64),
            rank=rank,
            server_place=server_place,
            server_size=server_size,
            place_start=_borders(found),
            place=np.array([p for places in found for p in places], dtype=np.int64),
            classes=classes,
        ),
        1,
    )


def _by_server(system: System, executor_class: int) -> Ints:
    members = np.flatnonzero(system.executor_class == executor_class)
    return members[np.argsort(system.executor_server[members], kind="stable")]


def _on_servers(system: System, pools: list[Ints]) -> tuple[Ints, Ints, Ints]:
    """(E,) each: an executor's place in the pool of its class, where those of its server begin, and how
    many they are."""
    rank, begin, size = (np.zeros(system.executors, dtype=np.int64) for _ in range(3))
    for pool in pools:
        servers = system.executor_server[pool]
        rank[pool] = np.arange(len(pool))
        begin[pool] = np.searchsorted(servers, servers)
        size[pool] = np.searchsorted(servers, servers, side="right") - begin[pool]
    return rank, begin, size


def _borders(rows: Any) -> Ints:
    return np.cumsum([0, *(len(row) for row in rows)]).astype(np.int64)


SCHEDULER = Scheduler(
    name="flexflow",
    kind="bind",
    family="placement",
    network_view=NetworkView.N1,
    summary="Uses for each model one placement, searched beforehand by simulating the model alone.",
    source=(
        "Jia, Zaharia and Aiken: Beyond Data and Model Parallelism for Deep Neural Networks (FlexFlow), "
        "SysML 2019, execution optimizer; step and return rules after its public code (recollected)"
    ),
    adaptation=(
        "Forward pass only, and whole tasks: no tensor is split. The search runs once per model and executor "
        "class on an empty cluster; executors and links are first come, first served, other queries do not "
        "exist. Slower placements are accepted by percent of the time on one executor (option alpha), not by "
        "milliseconds. The placement is relative; its first server is drawn for each query."
    ),
    decide=decide,
    prepare=prepare,
    takes_lists=True,
    look=Look("#b5473c", "solid", "triangle-nw"),
)
