"""More and more replications until a verdict stands: the sequential test of one system, run alone."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Generic, TypeVar

from nona.planning.least import driven
from nona.planning.verdict import FIRST, looks_within, replications_at
from nona.results.verdict import Verdict

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Settled(Generic[R]):
    """The verdict, the looks it took, and the result that it rests on."""

    verdict: Verdict
    looks: int
    result: R


def looks_of(
    judge: Callable[[R, int, int], Verdict], most: int, first: int = FIRST
) -> Generator[int, R, Settled[R]]:
    """The looks of one test: yields how many replications it wants, is sent the result of that many.

    So one test can be run alone (:func:`settle`), and several side by side, their replications in parallel.
    Parameters are those of :func:`settle`.
    """
    look, looks = 1, looks_within(most, first)
    while True:
        result = yield min(replications_at(look, first), most)
        found = judge(result, look, looks)
        if found != "open" or look == looks:
            return Settled(found, look, result)
        look += 1


def settle(
    simulate: Callable[[int], R],
    judge: Callable[[R, int, int], Verdict],
    most: int,
    first: int = FIRST,
) -> Settled[R]:
    """Simulate ``first`` replications, then 2, 4, … times as many, until a verdict stands or ``most`` are.

    Parameters
    ----------
    simulate
        The result of that many replications, those of the look before among them.
    judge
        The verdict at look l of L (:func:`nona.planning.verdict.verdict`).

    >>> settle(lambda n: n, lambda n, look, looks: "keeps" if n >= 8 else "open", 64)
    Settled(verdict='keeps', looks=2, result=8)
    """
    return driven(looks_of(judge, most, first), simulate)
