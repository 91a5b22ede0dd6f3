"""Cache between workflows: models and placements, keyed by the content they were made from.

Nothing is found by a name or a path alone, so results are those of a workflow without a cache: a file
that changed has another content, and two people whose files are equal share one entry.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from nona.queries.family import PLACED
from nona.queries.placement.result import Placement
from nona.scenario.lookup import Sources, file_names
from nona.scenario.schema import Scenario, WorkloadRow

T = TypeVar("T")
MODELS, PLACEMENTS, REHEARSED = 64, 32, 32


class RecentEntries(Generic[T]):
    """The ``most`` recently used entries.

    >>> kept = RecentEntries[int](2)
    >>> [kept.get(k, lambda k=k: len(k)) for k in ("a", "bb", "a", "ccc")]
    [1, 2, 1, 3]
    >>> "a" in kept, "bb" in kept
    (True, False)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[str, T] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        return key in self._held

    def get(self, key: str, make: Callable[[], T]) -> T:
        """Return the entry ``key``, made if missing; errors of ``make`` are raised and leave no entry."""
        if key not in self._held:
            self._held[key] = make()
        self._held.move_to_end(key)
        while len(self._held) > self._most:
            self._held.popitem(last=False)
        return self._held[key]


class PreparationCache:
    """A cache of models, placements and rehearsed schedulers, by content.

    For one process, and one thread at a time; the number of entries is bounded.
    """

    def __init__(self, models: int = MODELS, placements: int = PLACEMENTS) -> None:
        self.models = RecentEntries[Any](models)
        self.placements = RecentEntries[Placement](placements)
        self._rehearsed = RecentEntries[tuple[Placement | None, Any]](REHEARSED)

    def rehearsed(self, key: str, placement: Placement | None, make: Callable[[], T]) -> T:
        """Return the result of ``make`` for this key and this placement object; it is made once."""
        chosen: T = self._rehearsed.get(f"{key} {id(placement)}", lambda: (placement, make()))[1]
        return chosen


def once_per_model(scenario: Scenario, make: Callable[[WorkloadRow], T]) -> tuple[T, ...]:
    """Return ``make(row)`` for every row, called once for rows of the same model, symbols and batches."""
    by_key: dict[tuple[object, ...], T] = {}
    rows = scenario.workload
    keys = [
        (row.model, tuple(sorted(row.symbols.items())), row.batch, batch_key(row, scenario), bool(row.stages))
        for row in rows
    ]
    for key, row in zip(keys, rows, strict=True):
        if key not in by_key:
            by_key[key] = make(row)
    return tuple(by_key[key] for key in keys)


def batch_key(row: WorkloadRow, scenario: Scenario) -> tuple[int, float]:
    """Return the batching of a row as far as times depend on it."""
    own = [scenario.batching_of(row), *(stage.batching for stage in row.stages.values())]
    specs = [spec for spec in own if spec is not None]
    if not specs:
        return 1, 0.0
    return max(spec.largest for spec in specs), specs[0].per_query


def model_key(row: WorkloadRow, scenario: Scenario, sources: Sources) -> str:
    """Return the key of a read, costed and contracted model: rates and counts are not part of it."""
    cluster, cost = scenario.cluster, scenario.cost
    return _digest(
        row.model,
        _content(row.model, scenario, sources),
        dict(row.symbols),
        row.batch,
        batch_key(row, scenario),
        [cost.stack, cost.precision, _file(cost.measured, sources), _given(row.model, scenario)],
        "" if row.stages else scenario.contraction,
        [[g.gpu, g.mig, g.mps] for g in cluster.servers],
        cluster.devices,
    )


def preparation_key(scenario: Scenario, sources: Sources) -> str:
    """Return the key of a prepared system and its placement, including the content of its files."""
    data, names = (
        scenario.model_dump(mode="json"),
        file_names(scenario, "model", "config", "trace", "measured"),
    )
    return _digest({part: data[part] for part in PLACED}, {name: _file(name, sources) for name in names})


def _given(model: str, scenario: Scenario) -> object:
    spec = scenario.cost.given.get(model)
    return spec and spec.model_dump(mode="json")


def _content(model: str, scenario: Scenario, sources: Sources) -> str:
    """Return a digest of a model's source; of a sample, its name, as its file ships with the program."""
    if model in scenario.models:
        return _digest("inline", scenario.models[model])
    return "sample" if sources.is_sample(model) else _file(model, sources)


def _file(name: str | None, sources: Sources) -> str:
    return "" if name is None else hashlib.sha256(sources.read(name)).hexdigest()


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
