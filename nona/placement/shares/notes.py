"""The restrictions and assumptions of the shares of the executor classes, a sentence each."""

from __future__ import annotations

import numpy as np

from nona.placement.capacity.memory import allowed_classes, replicas
from nona.placement.formula.model import Model, Probabilities


def share_notes(model: Model, x: Probabilities) -> tuple[str, ...]:
    """Models kept off a class for their weights, and classes with fewer servers than parts may meet on.

    Nothing where executors are drawn alike.
    """
    if model.class_shares is None:
        return ()
    system, shares, notes = model.system, model.shares, []
    allowed = allowed_classes(system)
    for r in replicas(system):
        off = [n for k, n in enumerate(system.class_names) if not allowed[r.queries[0], k]]
        if off:
            notes.append(
                f"Memory: the weights of {r.name} are not kept on {', '.join(off)}, so it never runs there."
            )
    for k, name in enumerate(system.class_names):
        servers = len(np.unique(system.executor_server[system.executor_class == k]))
        parts = max((_parts(model, x, j) for j in range(len(shares)) if shares[j, k] > 0), default=1)
        if servers < parts:
            notes.append(
                f"Class {name} is on {servers} server{'s' * (servers > 1)} only and up to {parts} parts of a "
                "query may be drawn to it: parts on the same server run in sequence, which "
                "the prediction neglects."
            )
    return tuple(notes)


def _parts(model: Model, x: Probabilities, j: int) -> int:
    """The most servers that a sub-graph of query class ``j`` uses in a configuration of its placement."""
    used = [c.labels[p > 0] for c, p in zip(model.candidates[j], x[j], strict=True)]
    return 1 + max((int(labels.max(initial=0)) for labels in used), default=0)
