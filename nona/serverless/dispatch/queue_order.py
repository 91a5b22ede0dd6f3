"""Which of the queues that may be served now is next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def round_robin(ready: Iterable[int], last: int, queues: int) -> list[int]:
    """The ready queues in order of their number, beginning after the one served ``last`` (−1: none yet).

    >>> round_robin([0, 2, 5], last=2, queues=6)
    [5, 0, 2]
    """
    return sorted(ready, key=lambda q: (q - last - 1) % queues)


def least_slack(slack_s: Mapping[int, float]) -> list[int]:
    """The ready queues, least slack first, then the lowest number.

    >>> least_slack({0: 0.5, 1: -0.1, 2: 0.5})
    [1, 0, 2]
    """
    return sorted(slack_s, key=lambda q: (slack_s[q], q))
