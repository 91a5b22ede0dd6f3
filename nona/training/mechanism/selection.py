"""Which rows run in the next round, and on which type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nona.allocation.policies.problem import Floats
from nona.training.mechanism.ledger import CLOCK_DECIMALS, Ledger


class Chosen(NamedTuple):
    """A row on a type; ``runs`` is false where it only blocks its GPUs (see ``RunOptions.replay``)."""

    row: int
    kind: int
    runs: bool


def select(
    ledger: Ledger,
    priorities: Floats,
    free: Sequence[int],
    order: Sequence[int],
    *,
    needs_share: bool = False,
    unknown_block: bool = False,
    held: Sequence[tuple[int, int]] = (),
) -> list[Chosen]:
    """Type by type in ``order``, rows by (π, δ, X) descending, ties by their place; each job runs once.

    A row is taken if none of its jobs is, the type can run it, and enough GPUs are ``free``. Rows without a
    share run where GPUs are left, unless ``needs_share``. ``held``: (row, type) that keep their GPUs whatever
    their priority, where these are still free.
    """
    taken: set[int] = set()
    chosen: list[Chosen] = []
    free = list(free)
    for row, kind in held:
        workers = int(ledger.workers[row])
        if workers <= free[kind] and ledger.fits[row, kind] and taken.isdisjoint(ledger.rows[row]):
            taken.update(ledger.rows[row])
            free[kind] -= workers
            chosen.append(Chosen(row, kind, runs=True))
    place, deficit = np.arange(len(ledger.rows)), np.round(ledger.deficit, CLOCK_DECIMALS)
    for kind in order:
        left = free[kind]
        if left <= 0:
            continue
        keys = (place, -ledger.shares[:, kind], -deficit[:, kind], -priorities[:, kind])
        for row in np.lexsort(keys).tolist():
            if left <= 0:
                break
            jobs, workers = ledger.rows[row], int(ledger.workers[row])
            if workers > left or not ledger.fits[row, kind] or not taken.isdisjoint(jobs):
                continue
            if needs_share and priorities[row, kind] <= 0:
                continue
            taken.update(jobs)
            left -= workers
            chosen.append(Chosen(row, kind, not unknown_block or bool(ledger.known[row])))
    return chosen
