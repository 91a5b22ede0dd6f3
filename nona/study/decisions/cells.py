"""The cells of the study: link speed × link background × executor load, or a balanced subset."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

LINKS = (10.0, 25.0, 100.0, 200.0)  # Gbit/s
BACKGROUNDS = (0.0, 0.3, 0.6, 0.85)  # of the link
LOADS = (0.2, 0.5, 0.8)  # of the executors, by the queries


@dataclass(frozen=True, slots=True)
class Cell:
    """Speed of the link (Gbit/s), share of it that others use, share of the executors' time that queries use.

    ``link`` and ``background`` are ``None`` where nothing can be sent, so that the link does not matter.
    """

    link: float | None
    background: float | None
    load: float


def all_cells() -> tuple[Cell, ...]:
    """The 48 combinations.

    >>> len(all_cells())
    48
    """
    return tuple(Cell(*levels) for levels in product(LINKS, BACKGROUNDS, LOADS))


def fraction(number: int) -> tuple[Cell, ...]:
    """A quarter of the combinations, for the ``number``-th network: 12 cells, a Latin rectangle.

    Formula: link i meets load l with background (i + l + number) mod 4. So every link meets every load
    once, every background every load once, and every link three of the four backgrounds; four networks
    one after the other have all 48 combinations.

    >>> sorted({cell for number in range(4) for cell in fraction(number)}, key=str) == sorted(
    ...     all_cells(), key=str)
    True

    Source: Wu and Hamada, Experiments, 3rd ed. 2021, chapter 3 (Latin squares and rectangles).
    """
    return tuple(
        Cell(link, BACKGROUNDS[(i + k + number) % len(BACKGROUNDS)], load)
        for i, link in enumerate(LINKS)
        for k, load in enumerate(LOADS)
    )


def loads_only() -> tuple[Cell, ...]:
    """The cells of a network that contracts to a single task: no messages, only loads differ."""
    return tuple(Cell(None, None, load) for load in LOADS)
