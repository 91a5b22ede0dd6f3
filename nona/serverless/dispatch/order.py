"""Which invokers are asked for room, and by which rule; each is asked once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nona.gpu_sharing.registry import WAYS
from nona.serverless.dispatch.home import home_invoker, walk
from nona.serverless.model.system import ServerlessSystem

Candidate = tuple[int, str]


def candidates(
    rules: Sequence[str],
    route: Sequence[int],
    predecessor: int,
    warm: Iterable[int],
    free_vcpus: Sequence[int],
    free_vgpus: Sequence[int],
) -> Iterator[Candidate]:
    """(invoker, rule) in the order of the rules, each invoker with the first rule that names it.

    Parameters
    ----------
    rules
        ``home``: the first of ``route``; ``predecessor``; ``warm``; ``walk``: all of ``route``;
        ``most-free``: all, most free vGPUs first, then most free vCPUs, then the lowest number.
    route
        (N,) All invokers, from the function's home on.
    predecessor
        Where the input is, −1 for nowhere.
    warm
        Invokers with an idle container of the function, in order.
    free_vcpus, free_vgpus
        (N,) Of each invoker.

    Examples
    --------
    >>> list(candidates(("predecessor", "warm", "walk"), (1, 2, 0), 2, (0, 2), (9, 9, 9), (7, 7, 7)))
    [(2, 'predecessor'), (0, 'warm'), (1, 'walk')]
    >>> list(candidates(("home", "most-free"), (1, 2, 0), -1, (), (4, 9, 8), (2, 5, 2)))
    [(1, 'home'), (2, 'most-free'), (0, 'most-free')]
    """
    seen = set()
    for rule in rules:
        named: Iterable[int]
        if rule == "home":
            named = route[:1]
        elif rule == "predecessor":
            named = (predecessor,) if predecessor >= 0 else ()
        elif rule == "warm":
            named = warm
        elif rule == "walk":
            named = route
        else:
            named = sorted(range(len(route)), key=lambda i: (-free_vgpus[i], -free_vcpus[i], i))
        for invoker in named:
            if invoker not in seen:
                seen.add(invoker)
                yield invoker, rule


def looks_for_slices(system: ServerlessSystem) -> bool:
    """Whether invokers that need not make a slice come first: by ``ready_first``, where making takes time."""
    sharing = system.sharing
    return system.dispatch.ready_first and WAYS.find(sharing.mode).sets_up and sharing.reconfiguration > 0


def routes(system: ServerlessSystem) -> tuple[tuple[int, ...], ...]:
    """(F, N) For each function all invokers, in the order of its walk from home."""
    n = len(system.invokers)
    return tuple(walk(*home_invoker(function.name, n), n) for function in system.functions)
