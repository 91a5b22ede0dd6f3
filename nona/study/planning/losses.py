"""Remains of an option after failures: without any one server, without any one rack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.planning.offers import Option
from nona.scenario.plan import Survival
from nona.study.planning.question import Question


@dataclass(frozen=True, slots=True)
class Loss:
    """A failure in words, and the rest of the option after it."""

    text: str
    rest: Option


def losses(question: Question, option: Option, of: Survival) -> tuple[Loss, ...]:
    """The failures of one server or one rack; of several that differ only in size the largest.

    Servers stand in racks in the order of the offers, as the cluster of an option has them.
    """
    if of == "nothing":
        return ()
    names = [offer.text for offer in question.offers]
    if of == "server":
        taken = [tuple(int(k == j) for j in range(len(names))) for k in option.used]
        return tuple(Loss(f"one server of {names[t.index(1)]}", _without(option, t)) for t in taken)
    racks = question.scenario.cluster.network.racks
    return tuple(
        Loss(_rack_text(names, t), _without(option, t)) for t in _racks(option, racks.size if racks else 0)
    )


def _racks(option: Option, size: int) -> list[tuple[int, ...]]:
    """Count the servers of each offer in the racks; without racks that hold no more than another one.

    >>> _racks(Option((3, 6)), 4)  # the third rack has one of the second kind
    [(0, 4), (3, 1)]
    """
    if not size:
        return []
    offer = np.repeat(np.arange(len(option.counts)), option.counts)
    counts = np.zeros((-(-len(offer) // size), len(option.counts)), dtype=np.int64)
    np.add.at(counts, (np.arange(len(offer)) // size, offer), 1)
    racks = np.unique(counts, axis=0)
    within = (racks[:, None] <= racks[None, :]).all(axis=2).sum(axis=1)  # each lies within itself
    return [tuple(rack) for rack in racks[within == 1].tolist()]


def _rack_text(names: list[str], taken: tuple[int, ...]) -> str:
    """A rack by the servers in it.

    >>> _rack_text(["l4", "t4"], (0, 4)), _rack_text(["l4", "t4"], (1, 3))
    ('one rack of t4', 'one rack of 1 × l4 + 3 × t4')
    """
    kinds = [(n, name) for n, name in zip(taken, names, strict=True) if n]
    return f"one rack of {kinds[0][1] if len(kinds) == 1 else ' + '.join(f'{n} × {k}' for n, k in kinds)}"


def _without(option: Option, taken: tuple[int, ...]) -> Option:
    counts = tuple(n - t for n, t in zip(option.counts, taken, strict=True))
    return Option(counts, option.scheduler, option.link)
