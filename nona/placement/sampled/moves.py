"""What a search may change: for each group of equal sub-graphs the configurations worth a trial.

They are: all local; those that the placement uses; the cheapest ones at several link waits, server waits
and prices of link load (:func:`nona.placement.interiors.cheapest.best_configuration`), free to use and as
dear as the congestion they cause; and those that leave the root's server for good, so that the job's run
there ends, which shortens the wait of all others: the whole interior, or its last task, with the sink.
Large interiors may also keep their longest chain together and send what leads to it ahead
(:mod:`nona.placement.enumeration.feeders`).
Large interiors are searched at waits several times the predicted ones (:func:`_dear`): a path that crosses
many joins waits longer than the sum of its mean waits, so configurations with few visits are worth a trial.
From the configuration in use the search may also bring one part home, or join two parts
(:func:`simpler`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from nona.decomposition.subgraph import SubGraph
from nona.placement.configurations.extremes import server_slots
from nona.placement.configurations.labels import ENUMERATED, canonical, to_configuration, to_labels
from nona.placement.configurations.shape import Shape, shapes_of
from nona.placement.enumeration.feeders import feeder_configurations
from nona.placement.enumeration.large_interiors import list_schedules
from nona.placement.interiors.budget import Budget
from nona.placement.interiors.cheapest import best_configuration
from nona.placement.interiors.column_generation import climbed
from nona.placement.interiors.prices import Prices
from nona.placement.result.configuration import Configuration, Queries, SubGraphPlacement
from nona.placement.result.placement import Placement
from nona.placement.sampled.judge import rows
from nona.placement.sampled.starts import mixed
from nona.placement.spans.candidates import Candidates
from nona.placement.spans.messages import Link
from nona.placement.waits.link_route import link_of
from nona.system import System

NODES = 20_000  # of a search for one configuration of a small interior: here any good one will do
_SMALL = 14  # tasks; larger interiors get fewer nodes, as each of them takes longer
WAITS = (0.0, 1.0, 4.0)  # times those predicted
DEAR = (1.0, 2.0, 4.0, 8.0)  # times those predicted, for interiors that are searched by moves
_TRIALS_S = 0.4  # of such a search
_RARE = 1e-9  # probability
_PARTS = 6  # most parts of which pairs are joined, smallest first
PRICES = (0.0, 1.0, 10.0)  # times the price of congestion


@dataclass(frozen=True, eq=False)
class Group:
    """Equal sub-graphs, numbers ``members`` of class ``query``.

    Each of ``columns`` has one configuration for every member, in its own task numbers.
    """

    query: int
    members: tuple[int, ...]
    columns: tuple[tuple[Configuration, ...], ...]
    subgraphs: Sequence[SubGraph]

    def with_columns(self, columns: Iterable[tuple[Configuration, ...]]) -> Group:
        """The same group with other columns."""
        return replace(self, columns=tuple(columns))


@dataclass(frozen=True, eq=False)
class Move:
    """``members`` of a group go to ``column`` with probability ``share``, else they stay as they are."""

    group: Group
    column: int
    members: tuple[int, ...]
    share: float

    def of(self, queries: Queries) -> Queries:
        """The placement after the move."""
        made = [list(row) for row in queries]
        for k in self.members:
            placed = made[self.group.query][k]
            configuration = self.group.columns[self.column][self.group.members.index(k)]
            new = SubGraphPlacement(placed.subgraph, (configuration,), np.ones(1))
            made[self.group.query][k] = _tidy(mixed(placed, new, self.share))
        return rows(made)


def groups_of(system: System, placement: Placement) -> tuple[Group, ...]:
    """The groups of all classes that have something to choose, with their columns."""
    link = link_of(system, placement.class_shares)
    slots, found = server_slots(system), []
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
            own = {_numbers(c, subgraphs[k]) for k in members for c in placement.queries[j][k].configurations}
            if shape.m > ENUMERATED:
                labels += _feeders(system, j, shape, link, slots)
                labels += _dear(shape, link, slots, placement, labels + [_row(c, shape.m) for c in own])
            columns = [tuple(to_configuration(row, subgraphs[k].interior) for k in members) for row in labels]
            columns += [tuple(_as(c, subgraphs[k]) for k in members) for c in sorted(own, key=repr)]
            found.append(Group(j, tuple(members), tuple(dict.fromkeys(columns)), subgraphs))
    return tuple(found)


def moves(groups: tuple[Group, ...]) -> Iterator[Move]:
    """All members, every second or every third one, one alone; or all of them half the time."""
    for group in groups:
        ways = dict.fromkeys(
            (*((group.members[b::n], 1.0) for n in (1, 2, 3) for b in {0, n - 1}), (group.members[:1], 1.0))
        )
        for column in range(len(group.columns)):
            for members, share in (*ways, (group.members, 0.5)):
                if members:
                    yield Move(group, column, members, share)


def _labels(shape: Shape, link: Link, slots: int, placement: Placement) -> list[list[int]]:
    p = placement.prediction
    wait = p.network_wait_s if link.discipline == "fifo" else p.network_utilization
    price = p.congestion_price_s_per_byte * link.capacity
    found = [[0] * (shape.m + 1)]
    for link_wait in (w * wait for w in WAITS[:2]):
        for server_wait_s in (w * p.server_wait_s for w in WAITS):
            for load_price in (x * price for x in PRICES):
                best = best_configuration(
                    shape,
                    link,
                    slots,
                    link_wait=link_wait,
                    server_wait_s=server_wait_s,
                    load_price=load_price,
                    nodes=max(NODES * _SMALL // max(shape.m, _SMALL) ** 2 * _SMALL, 200),
                )
                found.append(best.labels.tolist())
    if shape.has_sink:
        found += [[1] * (shape.m + 1), [0] * (shape.m - 1) + [1, 1]]
    return [list(row) for row in dict.fromkeys(tuple(row) for row in found)]


def _dear(
    shape: Shape, link: Link, slots: int, placement: Placement, known: list[list[int]]
) -> list[list[int]]:
    """What a local search makes of the ``known`` configurations where waits cost several times the mean."""
    p = placement.prediction
    wait = p.network_wait_s if link.discipline == "fifo" else p.network_utilization
    rows_ = [tuple(row) for row in (*known, *list_schedules(shape, link, slots))]
    start = Candidates(shape, np.array(list(dict.fromkeys(rows_)), dtype=np.int64), link, exhaustive=False)
    found: list[list[int]] = []
    for factor in DEAR:
        dear = Prices(
            link_wait=factor * wait,
            server_wait_s=factor * p.server_wait_s,
            load=p.congestion_price_s_per_byte * link.capacity,
        )
        found += climbed(start, slots, dear, Budget(_TRIALS_S)).tolist()
    return found


def _feeders(system: System, query: int, shape: Shape, link: Link, slots: int) -> list[list[int]]:
    """Configurations that keep the longest chain together and send what leads to it ahead."""
    stream, rate = system.background_network, system.queries[query].rate
    free = 1.0 - stream.rate * stream.mean / system.capacity
    if rate <= 0 or free <= 0:
        return []
    found: list[list[int]] = feeder_configurations(shape, link, slots, free / rate).tolist()
    return found


def _row(c: Configuration, m: int) -> list[int]:
    """Labels (m + 1,) of a configuration whose tasks are numbered by their place in the interior."""
    return to_labels(c, range(m))


def simpler(group: Group, placed: SubGraphPlacement) -> Iterator[tuple[Configuration, ...]]:
    """From the most probable configuration: one part brought to the root's server, or two parts joined.

    A column for every member of the group. Of many parts the pairs among the smallest are joined.
    """
    c = placed.configurations[int(np.argmax(placed.probabilities))]
    member = next(k for k in group.members if group.subgraphs[k] == placed.subgraph)
    own = _numbers(c, group.subgraphs[member])
    m = len(placed.subgraph.interior)
    row = np.array(_row(own, m), dtype=np.int64)
    away = sorted(set(row.tolist()) - {0}, key=lambda label: int((row == label).sum()))
    joined = [(a, 0) for a in away] + [(a, b) for a, b in combinations(away[:_PARTS], 2)]
    for a, b in joined:
        changed = canonical(np.where(row == a, b, row).tolist())
        yield tuple(to_configuration(list(changed), group.subgraphs[k].interior) for k in group.members)


def _numbers(c: Configuration, subgraph: SubGraph) -> Configuration:
    """The configuration with the places of tasks in the interior in place of their numbers."""
    place = {t: i for i, t in enumerate(subgraph.interior)}
    return Configuration(tuple(tuple(place[t] for t in part) for part in c.parts), c.root_part, c.sink_part)


def _as(c: Configuration, subgraph: SubGraph) -> Configuration:
    """The inverse of :func:`_numbers`."""
    tasks = subgraph.interior
    return Configuration(tuple(tuple(tasks[i] for i in part) for part in c.parts), c.root_part, c.sink_part)


def _tidy(placed: SubGraphPlacement) -> SubGraphPlacement:
    """The same without what hardly ever happens; the probabilities add up to 1 again."""
    pairs = zip(placed.configurations, placed.probabilities.tolist(), strict=True)
    kept = {c: p for c, p in pairs if p > _RARE}
    total = sum(kept.values())
    return SubGraphPlacement(placed.subgraph, tuple(kept), np.array([p / total for p in kept.values()]))
