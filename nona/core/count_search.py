"""The least count that keeps a target, and the edge between values: what plans, nodes and sweeps search by.

A search is a generator: it yields the count or value that it wants judged next, is sent whether that keeps,
and returns what it found. So one search can be driven alone (:func:`run_search`), several side by side with
their counts judged in parallel, and one inside another (:func:`nested_search`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

Search = Generator[int, bool, int | None]
BESIDE = 2
Question = TypeVar("Question")
Answer = TypeVar("Answer")
Result = TypeVar("Result")


def smallest_count(
    most: int,
    start: int = 1,
    *,
    low: int = 0,
    beside: int = 0,
) -> Search:
    """Return the smallest count in ``low`` + 1 … ``most`` that keeps a target; each count is judged once.

    From ``start`` by steps of 1, 2, 4, … up or down, then by halves: few counts are tried where the answer
    is near, and about 2·log₂ of the distance otherwise. ``low`` is known not to keep.

    With ``beside`` = 0 what keeps is taken to be monotone in the count. Else a count is *settled* when it
    keeps the target and the ``beside`` counts above it do so too (as far as they are at most ``most``): the
    answer is settled, and none of the ``beside`` counts below it is. Nothing is said of counts further
    below that were not looked at.

    >>> run_search(smallest_count(100, 11), lambda n: n >= 10)
    10
    >>> run_search(smallest_count(9, 3), lambda n: False)
    >>> run_search(smallest_count(100, beside=2), lambda n: n in (6, 8) or n >= 10)
    10
    """
    kept: dict[int, bool] = {}

    def judge(count: int) -> Generator[int, bool, bool]:
        if count not in kept:
            kept[count] = yield count
        return kept[count]

    def is_settled(count: int) -> Generator[int, bool, bool]:
        for n in range(count, min(count + beside, most) + 1):
            if not (yield from judge(n)):
                return False
        return True

    answer = yield from _bracketed(judge, low, most, min(max(start, low + 1), most))
    while answer is not None and not (yield from is_settled(answer)):
        answer = answer + 1 if answer < most else None
    while answer is not None:
        for below in range(max(low + 1, answer - beside), answer):
            if (yield from is_settled(below)):
                answer = below
                break
        else:
            break
    return answer


def _bracketed(
    judge: Callable[[int], Generator[int, bool, bool]],
    low: int,
    most: int,
    start: int,
) -> Search:
    """Return a count that keeps while the one before it does not, or is ``low``."""
    step, high = 1, start
    if high <= low:
        return None
    if (yield from judge(high)):
        below = max(high - step, low)
        while below > low and (yield from judge(below)):
            high, step = below, 2 * step
            below = max(high - step, low)
    else:
        below = high
        while True:
            if below == most:
                return None
            high, step = min(below + step, most), 2 * step
            if (yield from judge(high)):
                break
            below = high
    high, _ = yield from nested_search(edge(high, below, halfway), judge)
    return high


def halfway(low: int, high: int) -> int | None:
    """Return the count halfway between two; ``None`` where no count lies between them."""
    return (low + high) // 2 if high - low > 1 else None


Value = TypeVar("Value", int, float)


def edge(
    inside: Value, outside: Value, between: Callable[[Value, Value], Value | None]
) -> Generator[Value, bool, tuple[Value, Value]]:
    """Two values beside an edge, from one ``inside`` and one ``outside`` of it, on whichever side.

    Yields the value ``between`` the two, lower one first, and is sent whether it is inside; ends where there
    is none between.

    >>> run_search(edge(9, 0, halfway), lambda n: n >= 4)
    (4, 3)
    """
    while (value := between(min(inside, outside), max(inside, outside))) is not None:
        if (yield value):
            inside = value
        else:
            outside = value
    return inside, outside


InnerQuestion = TypeVar("InnerQuestion")
InnerAnswer = TypeVar("InnerAnswer")


def nested_search(
    search: Generator[Question, Answer, Result],
    ask: Callable[[Question], Generator[InnerQuestion, InnerAnswer, Answer]],
) -> Generator[InnerQuestion, InnerAnswer, Result]:
    """One search whose every question is answered by another one."""
    try:
        wanted = next(search)
        while True:
            wanted = search.send((yield from ask(wanted)))
    except StopIteration as end:
        result: Result = end.value
        return result


def run_search(search: Generator[Question, Answer, Result], answer: Callable[[Question], Answer]) -> Result:
    """Run one search to its end; ``answer`` judges everything that it asks for.

    >>> asked = []
    >>> run_search(smallest_count(100, 11), lambda n: asked.append(n) or n >= 10), asked
    (10, [11, 10, 8, 9])
    """
    try:
        wanted = next(search)
        while True:
            wanted = search.send(answer(wanted))
    except StopIteration as end:
        result: Result = end.value
        return result
