"""Steps of executors that batch: which tasks are equal, when a step starts, and with how many of them.

The rules are one: a batch starts as soon as it has its largest size or a preferred one, or its oldest
member has waited for the delay. ``greedy`` is a delay of 0, ``static`` one without end; ``delay`` prefers
the largest size alone, and ``triton`` what its preferred sizes say. Triton also lets batches form ahead
while the executor is busy: these grow until they start.

Source of the rules: the dynamic batcher of the Triton inference server (``dynamic_batch_scheduler.cc``,
commit 73aad7c), read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Ints
from nona.queries.system import QueryClass, System


@dataclass(frozen=True, slots=True)
class StepRule:
    """The rule of a task.

    ``largest`` is the largest preferred size, and
    ``preferred[n]`` the largest of those up to n; without preferred sizes it is 0 and empty: then only
    ``most`` is preferred.
    """

    most: int = 1
    delay_s: float = 0.0
    ahead: int = 0
    largest: int = 0
    preferred: tuple[int, ...] = ()


def step_rule(query: QueryClass, task: int) -> StepRule:
    """Return the rule of a task of ``query``; without batching steps of one task, at once."""
    of = query.batching_of(task)
    if of is None:
        return StepRule()
    if of.rule != "triton":
        return StepRule(of.max_batch, of.waits_s)
    preferred = (0, *of.preferred_to.tolist()) if of.preferred else ()
    return StepRule(of.max_batch, of.waits_s, of.form_ahead, max(preferred, default=0), preferred)


def batch_keys(system: System) -> list[list[int]]:
    """By query class a number for each task; tasks that may be in one batch have the same."""
    keys: list[list[int]] = []
    first = 0
    for query, alike in zip(system.queries, system.batched_with, strict=True):
        keys.append(list(range(first, first + len(query.tasks))) if alike == len(keys) else keys[alike])
        first += len(query.tasks)
    return keys


def no_batch_sizes(system: System) -> Ints | None:
    """(Q, B+1) Zeros, to count steps by class of the first member and size; ``None`` without batching."""
    if not system.batches:
        return None
    return np.zeros((len(system.queries), max(len(q.step_s) for q in system.queries) + 1), dtype=np.int64)


def members_taken(
    waiting: int, formed: int, most: int, late: bool, at_once: bool, preferred: int, largest: int
) -> tuple[int, bool]:
    """Return how many of ``waiting`` tasks an open batch of ``formed`` takes, and whether it is full.

    0 formed: a new batch; 0 taken: it waits.

    ``late``: the oldest of them has waited for the delay. ``at_once``: there is no delay. ``preferred``: the
    largest preferred size that the batch would reach; 0 for none.

    >>> members_taken(3, 0, 8, False, False, 0, 8), members_taken(3, 0, 8, True, False, 0, 8)
    ((0, False), (3, False))
    >>> members_taken(7, 0, 8, False, False, 6, 6), members_taken(5, 0, 8, False, False, 4, 6)
    ((6, True), (4, False))
    """
    fits = min(waiting, most - formed)
    if preferred > formed and not late:
        return preferred - formed, at_once or preferred >= largest
    if waiting > fits or formed + fits >= largest:
        return fits, True
    if late or at_once or (formed > 0 and preferred != formed):
        return fits, False
    return 0, False
