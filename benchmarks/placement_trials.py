"""Placements to try on a system, structured and random, and moves from one to its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from nona.decomposition import VIRTUAL, SubGraph
from nona.placement.configurations import configuration_labels, local_configuration, to_configuration
from nona.placement.fixed import PRESETS, place_fixed
from nona.placement.result import Configuration, SubGraphPlacement
from nona.system import System

Queries = tuple[tuple[SubGraphPlacement, ...], ...]
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True, eq=False)
class Trial:
    """A placement under a name that says how it was made."""

    name: str
    queries: Queries


def _every_configuration(subgraph: SubGraph) -> tuple[Configuration, ...]:
    labels = configuration_labels(
        len(subgraph.interior), root_free=subgraph.root == VIRTUAL, sink_free=subgraph.sink == VIRTUAL
    )
    return tuple(to_configuration(row, subgraph.interior) for row in labels.tolist())


class Trials:
    """All the trials of one system; every random choice comes from ``seed``."""

    def __init__(self, system: System, seed: int = 0) -> None:
        self.system, self.random = system, np.random.default_rng(seed)
        self.graphs = [q.decomposition.subgraphs for q in system.queries]
        self.local: Queries = tuple(
            tuple(_pure(s, local_configuration(s)) for s in row) for row in self.graphs
        )
        known: dict[int, tuple[Configuration, ...]] = {}
        self.choices: dict[tuple[int, int], tuple[Configuration, ...]] = {}
        for j, row in enumerate(self.graphs):
            for k, s in enumerate(row):
                if len(s.interior) > 0:
                    self.choices[j, k] = known.setdefault(id(s), _every_configuration(s))
        self.movable = [at for at, found in self.choices.items() if len(found) > 1]

    def all(self, solved: Queries, random: int) -> Iterator[Trial]:
        """Presets, each configuration everywhere, cuts at even distances, mixtures; then random ones."""
        yield Trial("nona", solved)
        yield from self._presets()
        yield from self._each_configuration()
        yield from self._even(solved)
        yield from self._mixtures(solved)
        for number in range(random):
            yield self._random(number)

    def _presets(self) -> Iterator[Trial]:
        movable = sorted({j for j, _ in self.movable})
        for names in product(PRESETS, repeat=len(movable)):
            rows = list(self.local)
            for j, name in zip(movable, names, strict=True):
                rows[j] = place_fixed(self.system, self.system.queries[j], name)
            yield Trial("presets " + ", ".join(names), tuple(rows))

    def _kinds(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """(class, interior size) → the sub-graphs of that kind: those of one class repeat a block."""
        kinds: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for j, k in self.movable:
            kinds.setdefault((j, len(self.graphs[j][k].interior)), []).append((j, k))
        return kinds

    def _each_configuration(self) -> Iterator[Trial]:
        """Configuration number c in every sub-graph of one kind, the rest local."""
        for (j, m), places in self._kinds().items():
            for c in range(1, min(len(self.choices[p]) for p in places)):
                yield Trial(f"class {j}, interior {m}, configuration {c}", self.put(self.local, places, c))

    def _even(self, solved: Queries) -> Iterator[Trial]:
        """Every n-th sub-graph of one kind on a configuration, from different beginnings."""
        for (j, m), places in self._kinds().items():
            used = self.used(solved, places) or [1, len(self.choices[places[0]]) // 2]
            for c, step in product(used[:4], range(2, min(len(places), 7) + 1)):
                for begin in {0, step // 2, step - 1}:
                    name = f"class {j}, interior {m}, configuration {c} at {begin}, every {step}"
                    yield Trial(name, self.put(self.local, places[begin::step], c))

    def _mixtures(self, solved: Queries) -> Iterator[Trial]:
        """The solved placement and single configurations, mixed with all local at several shares."""
        for share in SHARES:
            yield Trial(f"{share} of nona, else local", self.mixed(solved, self.local, share))
        for (j, m), places in self._kinds().items():
            count = min(len(self.choices[p]) for p in places)
            for c in sorted({1, *(self.used(solved, places)), count // 3, count // 2, count - 1}):
                other = self.put(self.local, places, c)
                for share in SHARES:
                    name = f"class {j}, interior {m}, configuration {c} with {share}"
                    yield Trial(name, self.mixed(other, self.local, share))

    def _random(self, number: int) -> Trial:
        """Each sub-graph that can move does with a probability drawn once, to a random configuration."""
        rate, rows = self.random.uniform() ** 2, [list(row) for row in self.local]
        for j, k in self.movable:
            if self.random.uniform() < rate:
                found = self.choices[j, k]
                chosen = found[int(self.random.integers(1, len(found)))]
                share = 1.0 if number % 2 else float(self.random.uniform(0.1, 1.0))
                rows[j][k] = _mix(rows[j][k], _pure(self.graphs[j][k], chosen), 1 - share)
        return Trial(f"random {number}", tuple(tuple(row) for row in rows))

    def used(self, queries: Queries, places: list[tuple[int, int]]) -> list[int]:
        """Numbers of the configurations, other than local, that a placement uses at ``places``."""
        found = []
        for j, k in places:
            for c in queries[j][k].configurations:
                number = self.choices[j, k].index(c) if c in self.choices[j, k] else 0
                if number and number not in found:
                    found.append(number)
        return found

    def put(self, queries: Queries, places: list[tuple[int, int]], c: int) -> Queries:
        """The placement with configuration ``c`` at ``places``."""
        rows = [list(row) for row in queries]
        for j, k in places:
            rows[j][k] = _pure(self.graphs[j][k], self.choices[j, k][c])
        return tuple(tuple(row) for row in rows)

    def mixed(self, a: Queries, b: Queries, share: float) -> Queries:
        """Each sub-graph as in ``a`` with probability ``share``, else as in ``b``."""
        return tuple(
            tuple(_mix(x, y, share) for x, y in zip(r, s, strict=True)) for r, s in zip(a, b, strict=True)
        )

    def neighbour(self, queries: Queries) -> Trial:
        """Some sub-graphs changed: to local, to a random configuration, to half of each; or swapped."""
        rows, told = [list(row) for row in queries], []
        for _ in range(int(self.random.choice([1, 1, 2, 3, 5]))):
            j, k = self.movable[int(self.random.integers(len(self.movable)))]
            found, kind = self.choices[j, k], int(self.random.integers(4))
            c = 0 if kind == 0 else int(self.random.integers(1, len(found)))
            other = _pure(self.graphs[j][k], found[c])
            if kind == 3:
                same = [b for a, b in self.movable if a == j and len(self.choices[a, b]) == len(found)]
                b = same[int(self.random.integers(len(same)))]
                rows[j][k], rows[j][b] = _moved(rows[j][b], rows[j][k]), _moved(rows[j][k], rows[j][b])
            else:
                rows[j][k] = _mix(rows[j][k], other, 0.5) if kind == 2 else other
            told.append(f"{j}.{k}")
        return Trial("moved " + ", ".join(told), tuple(tuple(row) for row in rows))


def _pure(subgraph: object, c: Configuration) -> SubGraphPlacement:
    return SubGraphPlacement(subgraph, (c,), np.ones(1))  # type: ignore[arg-type]


def _moved(source: SubGraphPlacement, target: SubGraphPlacement) -> SubGraphPlacement:
    """The choice made at ``source`` on the sub-graph of ``target``, task by task; they are of equal size."""
    name = dict(zip(source.subgraph.interior, target.subgraph.interior, strict=True))
    configurations = tuple(
        Configuration(tuple(tuple(name[t] for t in part) for part in c.parts), c.root_part, c.sink_part)
        for c in source.configurations
    )
    return SubGraphPlacement(target.subgraph, configurations, source.probabilities)


def _mix(a: SubGraphPlacement, b: SubGraphPlacement, share: float) -> SubGraphPlacement:
    weight: dict[Configuration, float] = {}
    for placed, part in ((a, share), (b, 1 - share)):
        for c, p in zip(placed.configurations, placed.probabilities, strict=True):
            weight[c] = weight.get(c, 0.0) + part * float(p)
    kept = {c: w for c, w in weight.items() if w > 0}
    total = sum(kept.values())
    return SubGraphPlacement(a.subgraph, tuple(kept), np.array([w / total for w in kept.values()]))
