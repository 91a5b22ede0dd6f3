"""A learned policy as it is trained: it draws what to do, and writes down from what it chose."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.placement.result.placement import Placement
from nona.schedulers.base import NetworkView, Prepared, Ready, Scheduler, View
from nona.schedulers.draws import PRIME, mixed
from nona.schedulers.learned.choose import Learned, candidates, one_of
from nona.schedulers.learned.network import STATE
from nona.system import System

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_TASKS = 50  # of a query: they are bits of a number here


class Recording(NamedTuple):
    """The tables of a policy, and room for what it does.

    ``keep`` is the share of choices that are written down, drawn. ``written`` (3,) counts choices made, and
    choices and candidates written down. A choice has a time, the end of its candidates and
    which of them was taken; a candidate the number of its task, the tasks of its job that are not complete
    (a bit each), and P+4 features. What finds no room is done, but not written down.
    """

    policy: Learned
    salt: int
    keep: float
    written: Ints
    end: Ints
    taken: Ints
    task: Ints
    open_tasks: Ints
    time_s: Floats
    features: Floats


def recording(policy: Learned, salt: int, keep: float, choices: int, candidates_each: int = 24) -> Recording:
    """Room for so many choices; ``salt`` makes other draws of the same simulation.

    Raises
    ------
    SimulationError
        When a query has more tasks than a number has bits.
    """
    most = int(np.diff(policy.first).max())
    if most > MOST_TASKS:
        raise SimulationError(
            f"Training: a query has {most} tasks, at most {MOST_TASKS} can be learned from; "
            "draw smaller graphs."
        )
    rows = choices * candidates_each
    written, end, taken, task, open_tasks = (
        np.zeros(n, dtype=np.int64) for n in (3, choices, choices, rows, rows)
    )
    features = np.zeros(rows * (policy.pair + STATE))
    time_s = np.zeros(choices)
    return Recording(policy, salt, keep, written, end, taken, task, open_tasks, time_s, features)


def decide(now: float, view: View, ready: Ready, tables: Recording, u: Any, out: NDArray[Any]) -> bool:
    """As :func:`nona.schedulers.learned.decide.decide`, but drawn by the softmax of the scores.

    It is not pure: it writes into its own tables, of which every run has its own.
    """
    t = tables.policy
    found = candidates(now, view, ready, t)
    held = np.zeros(ready.n, dtype=np.int64)
    while True:
        tables.written[0] += 1
        chosen = drawn(found.entry, found.score, held, u[0], tables)
        if chosen < 0:
            return False
        write(now, ready, found.entry, found.features, held, chosen, tables)
        if view.queue_length[found.executor[chosen]] == 0:
            out[0] = found.entry[chosen]
            out[1] = one_of(view, ready, t, found, chosen, u[0])
            return True
        held[found.entry[chosen]] = 1


def drawn(entry: Ints, score: Floats, held: Ints, u: float, r: Recording) -> int:
    """One of the candidates whose tasks are not held, by the softmax of their scores; −1: there is none."""
    highest, total = -math.inf, 0.0
    for c in range(len(entry)):
        if not held[entry[c]]:
            highest = max(highest, score[c])
    for c in range(len(entry)):
        if not held[entry[c]]:
            total += math.exp(score[c] - highest)
    left = total * mixed(u, r.written[0], r.salt) / PRIME
    last = -1
    for c in range(len(entry)):
        if not held[entry[c]]:
            last = c
            left -= math.exp(score[c] - highest)
            if left < 0:
                break
    return last


def write(
    now: float, ready: Ready, entry: Ints, features: Floats, held: Ints, chosen: int, r: Recording
) -> None:
    """Write down a choice and what it was made from; a choice of one is none."""
    choice, row, width = r.written[1], r.written[2], r.policy.pair + STATE
    if mixed(r.keep, r.written[0], r.salt) >= r.keep * PRIME:
        return
    count = 0
    for c in range(len(entry)):
        if not held[entry[c]]:
            count += 1
    if count < 2 or choice == len(r.end) or row + count > len(r.task):
        return
    for c in range(len(entry)):
        if held[entry[c]]:
            continue
        i = entry[c]
        if c == chosen:
            r.taken[choice] = row
        first = r.policy.first[ready.query[i]]
        r.task[row] = first + ready.task[i]
        for task in range(r.policy.first[ready.query[i] + 1] - first):
            if ready.places[ready.base[i] + task] >= -1:
                r.open_tasks[row] |= 1 << task
        for f in range(width):
            r.features[row * width + f] = features[c, f]
        row += 1
    r.end[choice] = row
    r.time_s[choice] = now
    r.written[1] = choice + 1
    r.written[2] = row


@dataclass(frozen=True, slots=True)
class NewRecording:
    """Prepares a run of ``policy`` with a recording of its own; see :func:`recording`."""

    policy: Learned
    salt: int
    keep: float
    choices: int

    def __call__(self, system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
        return Prepared(recording(self.policy, self.salt, self.keep, self.choices), 1)


def recorder(view: NetworkView, prepare: NewRecording) -> Scheduler:
    """The declaration under which a policy runs while it is trained."""
    return Scheduler(
        name="policy in training",
        kind="pick",
        network_view=view,
        summary="A policy that draws what to do, and writes it down.",
        source="",
        adaptation="",
        decide=decide,
        prepare=prepare,
        reads_queues=True,
    )
