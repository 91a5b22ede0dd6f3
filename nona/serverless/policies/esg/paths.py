"""Paths of a search in arrays: what its compiled parts hand each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nona.serverless.policies.esg.tables import Floats, Ints


class Path(NamedTuple):
    """A partial or full path: US dollars a job, seconds, and the code of its configurations."""

    cost: float
    time: float
    code: int


class Paths(NamedTuple):
    """Room for H paths: ``sums`` (H, 2) are cost and time, ``codes`` (H,)."""

    sums: Floats
    codes: Ints


class Heap(NamedTuple):
    """A heap with room for H paths, each with a place in the tree: ``places`` (H,)."""

    sums: Floats
    codes: Ints
    places: Ints


def room_for(paths: int) -> Paths:
    """Room for so many paths."""
    return Paths(np.zeros((paths, 2)), np.zeros(paths, dtype=np.int64))


def heap_for(paths: int) -> Heap:
    """A heap with room for so many paths."""
    return Heap(*room_for(paths), np.zeros(paths, dtype=np.int64))
