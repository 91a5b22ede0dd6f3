"""Which GPUs a job has, as counts by node."""

from __future__ import annotations

from typing import NamedTuple

from nona.training.elastic.applications.times import Counts


class Share(NamedTuple):
    """``gpus`` GPUs of node ``node``."""

    node: int
    gpus: int


#: A job's GPUs in the order in which they were given; () for none.
Given = tuple[Share, ...]


def counts_of(given: Given) -> Counts:
    """GPUs by node, without the nodes.

    >>> counts_of((Share(3, 4), Share(0, 2)))
    (4, 2)
    """
    return tuple(share.gpus for share in given)


def size_of(given: Given) -> int:
    """GPUs in all.

    >>> size_of((Share(3, 4), Share(0, 2)))
    6
    """
    return sum(share.gpus for share in given)
