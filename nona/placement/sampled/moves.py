"""Starts of a search by sampled jobs, and the changes that it may make.

The formula takes mean waits and is optimistic wherever a path crosses many joins; keeping a query whole is
what it is worst at seeing. So every placement that a person would try by hand is a start.

The chain of most work stays on one server, in one run. What none of its tasks leads to (the text's keys
and values of a U-Net, the other experts of a mixture) can be done meanwhile elsewhere, in one visit,
and has arrived before the chain needs it unless that one visit waits long. So the completion time is a
maximum of few random waits, where a configuration that parts the chain adds them, and one that sends the
feeders to many servers takes the maximum of many.

Columns are: all local; those that the placement uses; of interiors whose configurations are listed, the
cheapest ones at several link waits, server waits and prices of link load, free to use and as dear as the
congestion they cause; of larger ones, what a local search finds at waits several times the predicted ones,
and those that keep the longest chain together and send what leads to it ahead; and those that leave the
root's server for good, so that the job's run there ends, which shortens the wait of all others: the whole
interior, or its last task, with the sink. From the configuration in use the search may also bring one part
home, or join two parts (:func:`simpler`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from nona.arrays import Ints
from nona.decomposition import SubGraph
from nona.placement.configurations import (
    ENUMERATED,
    Shape,
    canonical,
    connected,
    server_slots,
    shapes_of,
    to_configuration,
    to_labels,
)
from nona.placement.enumeration import candidates, list_schedules
from nona.placement.fixed import PRESETS, idle_presets, place_fixed
from nona.placement.interiors.column_generation import Budget, climbed
from nona.placement.interiors.prices import Prices, costs
from nona.placement.link_routes import link_of
from nona.placement.messages import Candidates, Link
from nona.placement.result import Configuration, Placement, Queries, SubGraphPlacement
from nona.placement.sampled.judge import rows
from nona.system import System


def starts(system: System, optimum: Queries) -> dict[str, Queries]:
    """Named placements, equal ones once: the formula's ``optimum``, presets, and the expert's.

    ``expert`` is for each class the preset that is quickest on an idle cluster.
    """
    named: dict[str, Queries] = {"formula": optimum}
    for name in PRESETS:
        named[name] = rows([place_fixed(system, q, name) for q in system.queries])
    idle = idle_presets(system)
    named["expert"] = rows([place_fixed(system, q, p) for q, p in zip(system.queries, idle, strict=True)])
    distinct: dict[str, Queries] = {}
    for name, queries in named.items():
        if not any(same(queries, other) for other in distinct.values()):
            distinct[name] = queries
    return distinct


def same(a: Queries, b: Queries) -> bool:
    """Return whether two placements give every configuration the same probability."""
    return all(
        dict(zip(p.configurations, p.probabilities.tolist(), strict=True))
        == dict(zip(q.configurations, q.probabilities.tolist(), strict=True))
        for row, other in zip(a, b, strict=True)
        for p, q in zip(row, other, strict=True)
    )


_SHARES = (1.0, 0.5, 0.25, 0.1)  # of the link's free time


def feeder_configurations(shape: Shape, link: Link, slots: int, free_s: float) -> Ints:
    """(n, m+1) Configurations with the feeders away: all of them, or what fits into shares of ``free_s``.

    ``slots``: servers there are. ``free_s``: seconds of the link that every query may have: (1 − ρ of the
    background)/λ.

    A chain 1 → 3 → 4 beside task 2, which leads to 4:

    >>> ints = lambda *v: np.array(v, dtype=np.int64)
    >>> time = np.array([5.0, 1.0, 5.0, 1.0])
    >>> shape = Shape(False, False, time[None], time, ints(1, 2, 3), ints(3, 4, 4), ints(0, 1, 2), np.ones(3))
    >>> feeder_configurations(shape, Link(1.0, 0.0), 2, 10.0).tolist()
    [[0, 1, 0, 0, 0]]
    """
    feeders = _feeders(shape)
    if slots < 2 or not feeders:
        return np.zeros((0, shape.m + 1), dtype=np.int64)
    rows: dict[tuple[int, ...], None] = {}
    for share in _SHARES:
        away = _within(shape, feeders, share * free_s * link.capacity)
        arcs = zip(shape.source.tolist(), shape.target.tolist(), strict=True)
        parts = sorted(connected(away, arcs), key=lambda g: (-shape.work_s(g), g))
        for servers in range(1, min(len(parts), slots - 1) + 1):
            rows[_label(shape, _dealt(shape, parts, servers))] = None
    rows.pop((0,) * (shape.m + 1), None)
    return np.array(list(rows), dtype=np.int64).reshape(-1, shape.m + 1)


def _feeders(shape: Shape) -> list[int]:
    """Interior tasks beside the longest chain that no task of it leads to, 1…m."""
    after = np.zeros(shape.m + 2, dtype=bool)
    after[[v + 1 for v in shape.interior_dag.critical_path(shape.mean_s.tolist())[1]]] = True
    for v in range(1, shape.m + 1):
        after[v] |= any(after[shape.source[e]] for e in shape.edges_into[v])
    return [v for v in range(1, shape.m + 1) if not after[v]]


def _within(shape: Shape, feeders: Sequence[int], most_bytes: float) -> list[int]:
    """The feeders without those that send most for their work, so that ``most_bytes`` suffice."""
    away = set(feeders)
    moved = _crossing(shape, away)
    while away and moved > most_bytes:
        best: tuple[float, float, int] | None = None
        for v in sorted(away):
            if any(int(shape.target[e]) in away for e in shape.edges_of[v]):
                continue
            left = _near(shape, away, v) - _near(shape, away - {v}, v)
            rank = left / max(float(shape.mean_s[v - 1]), 1e-12), left, v
            best = rank if best is None or rank > best else best
        if best is None:
            break
        away.discard(best[2])
        moved -= best[1]
    return sorted(away)


def _near(shape: Shape, away: set[int], v: int) -> float:
    """Bytes that cross of the tensors that ``v`` reads and makes."""
    named = {int(shape.tensor[e]) for e in (*shape.edges_into[v], *shape.edges_of[v])}
    nodes = {v, *(int(shape.source[e]) for e in shape.edges_into[v])}
    return _sent(shape, away, nodes, named)


def _crossing(shape: Shape, away: set[int]) -> float:
    """Bytes between ``away``, taken as one server, and the rest."""
    return _sent(shape, away, set(range(shape.m + 1)), set(shape.tensor.tolist()))


def _sent(shape: Shape, away: set[int], nodes: set[int], named: set[int]) -> float:
    sent: dict[int, float] = {}
    for u in nodes:
        for e in shape.edges_of[u]:
            if int(shape.tensor[e]) in named and (u in away) != (int(shape.target[e]) in away):
                sent[int(shape.tensor[e])] = float(shape.size[e])
    return sum(sent.values())


def _dealt(shape: Shape, parts: Sequence[Sequence[int]], servers: int) -> list[list[int]]:
    dealt: list[list[int]] = [[] for _ in range(servers)]
    for part in parts:
        min(dealt, key=lambda h: shape.work_s(h)).extend(part)
    return dealt


def _label(shape: Shape, groups: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return a row of labels: the chain, its followers and the sink on one server, ``groups`` on others."""
    server = [0] * (shape.m + 1)
    for number, tasks in enumerate(groups, start=1):
        for v in tasks:
            server[v - 1] = number
    if not shape.has_root and server[0]:  # behind a virtual root the first task's server is number 0
        first = server[0]
        swap = {first: 0, 0: first}
        server = [swap.get(s, s) for s in server]
        if not shape.has_sink:
            server[-1] = 0
    return canonical(server)


WAITS = (0.0, 1.0, 4.0)  # times those predicted
PRICES = (0.0, 1.0, 10.0)  # times the price of congestion
DEAR = (1.0, 2.0, 4.0, 8.0)  # the same, for large interiors
_CLIMB_S = 0.4  # about how long a local search may take
_PARTS = 6  # most parts of which pairs are joined, smallest first


@dataclass(frozen=True, eq=False)
class Group:
    """Equal sub-graphs, numbers ``members`` of class ``query``.

    Each of ``columns`` has one configuration for every member, in its own task numbers.
    """

    query: int
    members: tuple[int, ...]
    columns: tuple[tuple[Configuration, ...], ...]
    subgraphs: Sequence[SubGraph]


def moved(queries: Queries, group: Group, column: tuple[Configuration, ...]) -> Queries:
    """The placement with all members of ``group`` in their configurations of ``column``."""
    placed = [list(row) for row in queries]
    for k, configuration in zip(group.members, column, strict=True):
        placed[group.query][k] = SubGraphPlacement(group.subgraphs[k], (configuration,), np.ones(1))
    return rows(placed)


def groups_of(system: System, placement: Placement) -> tuple[Group, ...]:
    """The groups of all classes that have something to choose, with their columns."""
    link = link_of(system, placement.class_shares)
    slots, groups = server_slots(system), []
    shares = system.uniform_shares if placement.class_shares is None else placement.class_shares
    for j, query in enumerate(system.queries):
        subgraphs = query.decomposition.subgraphs
        equal: dict[bytes, list[int]] = {}
        shapes = shapes_of(query.tasks, subgraphs, shares[j])
        for k, shape in enumerate(shapes):
            if shape.m > 0 and slots > 1:
                equal.setdefault(shape.signature, []).append(k)
        for members in equal.values():
            shape = shapes[members[0]]
            labels = _labels(shape, link, slots, placement)
            if shape.m > ENUMERATED:
                labels += _moves_feeders(system, j, shape, link, slots) + _climbed(
                    shape, link, slots, placement
                )
            labels += sorted(
                to_labels(c, subgraphs[k].interior)
                for k in members
                for c in placement.queries[j][k].configurations
            )
            columns = [tuple(to_configuration(row, subgraphs[k].interior) for k in members) for row in labels]
            groups.append(Group(j, tuple(members), tuple(dict.fromkeys(columns)), subgraphs))
    return tuple(groups)


def _labels(shape: Shape, link: Link, slots: int, placement: Placement) -> list[list[int]]:
    labels = [[0] * (shape.m + 1)]
    if shape.m <= ENUMERATED:
        labels += _cheapest(candidates(shape, link, slots), placement)
    if shape.has_sink:
        labels += [[1] * (shape.m + 1), [0] * (shape.m - 1) + [1, 1]]
    return [list(row) for row in dict.fromkeys(tuple(row) for row in labels)]


def _cheapest(listed: Candidates, placement: Placement) -> list[list[int]]:
    """The cheapest of all configurations at multiples of the predicted waits and congestion price."""
    p, link = placement.prediction, listed.link
    wait = p.network_wait_s if link.discipline == "fifo" else p.network_utilization
    price = p.congestion_price_s_per_byte * link.capacity
    labels: list[list[int]] = []
    for link_wait, server_wait, load_price in product(WAITS[:2], WAITS, PRICES):
        at = Prices(link_wait * wait, server_wait * p.server_wait_s, load_price * price)
        labels.append(listed.labels[int(np.argmin(costs(listed, at)))].tolist())
    return labels


def _climbed(shape: Shape, link: Link, slots: int, placement: Placement) -> list[list[int]]:
    """Climb from list schedules where waits cost several times the predicted ones.

    A path that crosses many joins waits longer than the sum of its mean waits, so configurations with few
    visits are worth a trial.
    """
    p = placement.prediction
    wait = p.network_wait_s if link.discipline == "fifo" else p.network_utilization
    listed = np.array([(0,) * (shape.m + 1), *list_schedules(shape, link, slots)], dtype=np.int64)
    start, labels = Candidates(shape, listed, link, exhaustive=False), []
    for times in DEAR:
        at = Prices(times * wait, times * p.server_wait_s, p.congestion_price_s_per_byte * link.capacity)
        labels += climbed(start, slots, at, Budget(_CLIMB_S)).tolist()
    return labels


def _moves_feeders(system: System, query: int, shape: Shape, link: Link, slots: int) -> list[list[int]]:
    """Configurations that keep the longest chain together and send what leads to it ahead."""
    stream, rate = system.background_network, system.queries[query].rate
    free = 1.0 - stream.load(system.capacity)
    if rate <= 0 or free <= 0:
        return []
    labels: list[list[int]] = feeder_configurations(shape, link, slots, free / rate).tolist()
    return labels


def simpler(group: Group, here: Queries) -> Iterator[tuple[Configuration, ...]]:
    """From the most probable configuration: one part brought to the root's server, or two parts joined.

    A column for every member of the group. Of many parts the pairs among the smallest are joined.
    """
    placed = here[group.query][group.members[0]]
    c = placed.configurations[int(np.argmax(placed.probabilities))]
    row = np.array(to_labels(c, placed.subgraph.interior), dtype=np.int64)
    away = sorted(set(row.tolist()) - {0}, key=lambda label: int((row == label).sum()))
    joined = [(a, 0) for a in away] + [(a, b) for a, b in combinations(away[:_PARTS], 2)]
    for a, b in joined:
        changed = canonical(np.where(row == a, b, row).tolist())
        yield tuple(to_configuration(list(changed), group.subgraphs[k].interior) for k in group.members)
