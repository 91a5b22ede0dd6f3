"""``batch-affinity``: the whole query where it adds least work: to a batch that still fills, if there is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nona.arrays import Floats, Ints
from nona.placement.capacity import allowed_classes
from nona.placement.result import Placement
from nona.registry import Look
from nona.schedulers.base import NetworkView, Prepared, Scheduler, View
from nona.system import System


class BatchWorks(NamedTuple):
    """Q query classes, K executor classes, W the largest batch of all.

    ``tasks`` and ``most`` (Q,): tasks of a query, members of its largest batch; ``added_s`` (Q·K·W,): by how
    many seconds the steps of a batch of n last longer with one more member, at (q·K + k)·W + n; ``inf`` where
    the executor cannot hold the model.
    """

    tasks: Ints
    most: Ints
    added_s: Floats
    classes: int
    width: int


def decide(now: float, query: int, view: View, tables: BatchWorks, u: Any, out: Any) -> None:
    """The executor of least backlog + added work; of equals one with the shortest queue, drawn."""
    least, length, equal = math.inf, 0, 0
    for e in range(len(view.executor_server)):
        done, n = _done_s(e, query, view, tables), view.queue_length[e]
        if done < least or (done == least and n < length):
            least, length, equal = done, n, 1
        elif done == least and n == length:
            equal += 1
    left, chosen = int(u[0] * equal), 0
    for e in range(len(view.executor_server)):
        if view.queue_length[e] == length and _done_s(e, query, view, tables) == least:
            chosen = e
            left -= 1
            if left < 0:
                break
    for i in range(tables.tasks[query]):
        out[i] = chosen


def _done_s(e: int, query: int, view: View, tables: BatchWorks) -> float:
    row = (query * tables.classes + view.executor_class[e]) * tables.width
    bound = view.bound[query * len(view.executor_server) + e]
    if bound:  # to divide is slow, and most have none
        row += bound // tables.tasks[query] % tables.most[query]
    return float(view.backlog_s[e] + tables.added_s[row])


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    allowed = allowed_classes(system)
    batches = [q.step_s for q in system.queries]
    width = max(len(steps) for steps in batches)
    added_s = np.full((len(batches), len(system.class_names), width), math.inf)
    for q, steps in enumerate(batches):
        whole_s = steps.sum(axis=2)  # (B, K)
        added_s[q, :, : len(steps)] = np.diff(whole_s, axis=0, prepend=0.0).T
        added_s[q, ~allowed[q]] = math.inf
    tables = BatchWorks(
        tasks=np.array([len(q.tasks) for q in system.queries], dtype=np.int64),
        most=np.array([len(steps) for steps in batches], dtype=np.int64),
        added_s=added_s.ravel(),
        classes=len(system.class_names),
        width=width,
    )
    return Prepared(tables, 1)


SCHEDULER = Scheduler(
    name="batch-affinity",
    kind="bind",
    family="practice",
    network_view=NetworkView.N0,
    summary="Runs all tasks of a job where its batch still fills, unless another executor has far less work.",
    source="This project's own; routing for affinity is usual where servers batch",
    adaptation=(
        "Least-loaded with the work that a query adds in place of its own: what one more member costs the "
        "batch that is open there, or a new batch. The open batch is taken to hold the queries of its model "
        "that are not complete there, less whole batches: what runs already is counted as if it could be "
        "joined. Without batching it is least-loaded."
    ),
    decide=decide,
    build=_build,
    reads_queues=True,
    reads_bound=True,
    look=Look("#5b8c2a", "longdashdot", "octagon"),
)
