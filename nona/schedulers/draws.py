"""Numbers drawn from a uniform draw and whole numbers, in code that the compiled engine runs too."""

from __future__ import annotations

PRIME, FACTOR = 2147483647, 48271  # of the "minimal standard" generator


def mixed(draw: float, first: int, salt: int) -> int:
    """A number from 0 to 2³¹ − 2 that depends on a uniform draw and two whole numbers: Lehmer's generator,
    started from the draw and fed with the others. Its bits are folded in between, as a sum alone would move
    neighbouring numbers by the same small step.

    >>> [mixed(0.5, 3, salt) % 10 for salt in range(8)]
    [5, 3, 0, 9, 8, 0, 4, 7]
    """
    h = folded((1 + int(draw * (PRIME - 2))) * FACTOR + first + 1)
    h = folded(h * FACTOR + salt)
    return folded(h * FACTOR + 11)


def folded(h: int) -> int:
    """A remainder whose high bits change the low ones, and the other way round by a product."""
    h = h % PRIME
    return (h ^ (h >> 15)) * FACTOR % PRIME
