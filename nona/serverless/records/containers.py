"""What a run records of its containers, where they are paid for or need memory: their lives and waits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.serverless.records.intervals_held import ended_or_stopped

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NEVER = math.nan


@dataclass(frozen=True, eq=False)
class ContainerLives:
    """n containers, their k waits, and the one that each of m batches had.

    Attributes
    ----------
    invoker, function, born_s, gone_s
        (n,) Where and whose; when its start began, and when it was removed: ``nan`` if it was there at the
        end. Containers of the start are born warm.
    evicted
        (n,) Whether it was removed to make room for another.
    of_batch
        (m,) The container of each batch, which has it from dispatch to end. An instance that stands has it
        all the time.
    idle, idle_from_s, idle_until_s
        (k,) The container, and when it began and ceased to wait for a batch: ``nan`` if it waited at the end.
    idle_configuration
        (k,) That of the batch that it had last; the smallest if it had none.
    """

    invoker: Ints
    function: Ints
    born_s: Floats
    gone_s: Floats
    evicted: NDArray[np.bool_]
    of_batch: Ints
    idle: Ints
    idle_from_s: Floats
    idle_until_s: Floats
    idle_configuration: Ints


@dataclass(frozen=True, slots=True)
class ContainerPieces:
    """The pieces that lives are made of: of which container, from when, until when; P of each kind.

    ``starting`` are starts ahead of a batch; a cold start lies within its batch.
    """

    container: Ints
    from_s: Floats
    until_s: Floats


def idle_pieces(lives: ContainerLives, stopped_s: float) -> ContainerPieces:
    """All waits."""
    return ContainerPieces(lives.idle, lives.idle_from_s, ended_or_stopped(lives.idle_until_s, stopped_s))


def busy_pieces(container: Ints, from_s: Floats, ended_s: Floats, stopped_s: float) -> ContainerPieces:
    """What has containers: all batches, or all instances that stood."""
    return ContainerPieces(container, from_s, ended_or_stopped(ended_s, stopped_s))


def starting_pieces(lives: ContainerLives, busy: ContainerPieces, stopped_s: float) -> ContainerPieces:
    """From birth to the first of ``busy``, or the first wait; those of no length are left out."""
    first_s = np.full(len(lives.born_s), stopped_s)
    np.minimum.at(first_s, lives.idle, lives.idle_from_s)
    np.minimum.at(first_s, busy.container, busy.from_s)
    which = np.flatnonzero(first_s > lives.born_s)
    return ContainerPieces(which, lives.born_s[which], first_s[which])


def gone_s(lives: ContainerLives, stopped_s: float) -> Floats:
    """(n,) When each container was removed, or the run stopped."""
    return ended_or_stopped(lives.gone_s, stopped_s)


def tiled(lives: ContainerLives, pieces: tuple[ContainerPieces, ...], stopped_s: float) -> int:
    """Containers of which the pieces, in order, do not fill the life from birth to end without gap."""
    container = np.concatenate([p.container for p in pieces])
    from_s, until_s = (np.concatenate([getattr(p, key) for p in pieces]) for key in ("from_s", "until_s"))
    order = np.lexsort((until_s, from_s, container))
    container, from_s, until_s = container[order], from_s[order], until_s[order]
    first = np.append(True, container[1:] != container[:-1])
    last = np.append(first[1:], True)
    begins = np.where(first, lives.born_s[container], np.append(0.0, until_s[:-1]))
    wrong = (from_s != begins) | (last & (until_s != gone_s(lives, stopped_s)[container]))
    without = np.setdiff1d(np.arange(len(lives.born_s)), container)
    instants = lives.born_s[without] == gone_s(lives, stopped_s)[without]
    return len(np.unique(container[wrong])) + int((~instants).sum())
