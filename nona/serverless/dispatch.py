"""The order in which invokers are asked for room: home, walk, rules.

A function's hash chooses its home, and a step that is coprime to the number of invokers n, so that

    home, home + step, home + 2 · step, …  (mod n)

visits every invoker once. The steps to choose from are pairwise coprime, so that two functions with one
home soon part.

Source: apache/openwhisk, ShardingContainerPoolBalancer, its comment and ``pairwiseCoprimeNumbersUntil``.
There the hash is that of the namespace xor that of the function's full name; here, with one namespace, it
is that of the name.
"""

from __future__ import annotations

from functools import cache
from math import gcd

from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.errors import SimulationError
from nona.serverless.system import ServerlessSystem


def name_hash(name: str) -> int:
    """|h| of Java's 32-bit ``String.hashCode``: h ← 31 · h + c over the UTF-16 units c.

    >>> name_hash("hello"), name_hash("polygenelubricants")
    (99162322, 2147483648)
    """
    units = name.encode("utf-16-be")
    h = 0
    for at in range(0, len(units), 2):
        h = (31 * h + units[at] * 256 + units[at + 1]) & 0xFFFFFFFF
    return abs(h - 2**32 if h >= 2**31 else h)


@cache
def steps(n: int) -> tuple[int, ...]:
    """Numbers from 1 to n, in order, coprime to n and to all taken before.

    >>> steps(10), steps(16), steps(1)
    ((1, 3, 7), (1, 3, 5, 7, 11, 13), (1,))
    """
    if n < 1:
        raise SimulationError(f"Invokers: n={n} must be at least 1; add one.")
    taken: list[int] = []
    for number in range(1, n + 1):
        if gcd(number, n) == 1 and all(gcd(number, other) == 1 for other in taken):
            taken.append(number)
    return tuple(taken)


def home_and_step(hash_value: int, n: int) -> tuple[int, int]:
    """(home, step) = (hash mod n, steps[hash mod how many steps there are]).

    >>> home_and_step(13, 10)
    (3, 3)
    """
    choices = steps(n)
    return hash_value % n, choices[hash_value % len(choices)]


def home_invoker(name: str, n: int) -> tuple[int, int]:
    """(home, step) of the function ``name`` among n invokers.

    >>> home_invoker("deblur", 16)
    (8, 5)
    """
    return home_and_step(name_hash(name), n)


def walk(home: int, step: int, n: int) -> tuple[int, ...]:
    """Return the invokers in the order in which they are asked.

    >>> walk(3, 3, 10)
    (3, 6, 9, 2, 5, 8, 1, 4, 7, 0)
    """
    return tuple((home + k * step) % n for k in range(n))


def looks_for_slices(system: ServerlessSystem) -> bool:
    """Return whether invokers that need make no slice come first: ``ready_first``, and making takes time."""
    sharing = system.sharing
    return (
        system.dispatch.ready_first
        and SHARING_MODES.find(sharing.mode).sets_up
        and sharing.reconfiguration > 0
    )


def routes(system: ServerlessSystem) -> tuple[tuple[int, ...], ...]:
    """(F, N) For each function all invokers, in the order of its walk from home."""
    n = len(system.invokers)
    return tuple(walk(*home_invoker(function.name, n), n) for function in system.functions)
