"""Numbers of GPUs become GPUs of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nona.training.elastic.applications.times import Counts
from nona.training.elastic.model.given import Given, Share, size_of
from nona.training.elastic.model.system import Cluster
from nona.training.elastic.policies.base import Active


def compact(cluster: Cluster, gpus: int) -> Counts:
    """GPUs on as few nodes as possible, full ones first.

    >>> compact(Cluster(16, 4), 6)
    (4, 2)
    """
    full, rest = divmod(gpus, cluster.gpus)
    return (cluster.gpus,) * full + ((rest,) if rest else ())


def first_fit(cluster: Cluster, jobs: Iterable[Active], *, blocking: bool = False) -> dict[int, int]:
    """The GPUs that jobs ask for, in order, as long as they are free; others get none.

    Parameters
    ----------
    blocking
        Whether nobody comes after the first one that does not fit.
    """
    free, wanted = cluster.size, dict[int, int]()
    for active in jobs:
        if active.job.gpus <= free:
            wanted[active.number] = active.job.gpus
            free -= active.job.gpus
        elif blocking:
            break
    return wanted


def place(cluster: Cluster, jobs: Iterable[Active], wanted: Mapping[int, int]) -> dict[int, Given]:
    """Jobs with an unchanged number keep their GPUs; others take the freest nodes.

    In the order of ``wanted``, a job takes as many GPUs as it needs and are free from the node with most free
    GPUs, of equals the first, until it has all.

    Source: Pollux's public simulator, Tiresias and Optimus.
    """
    free = [cluster.gpus] * cluster.nodes
    had = {job.number: job.given for job in jobs}
    kept = {n: had[n] for n, count in wanted.items() if count and size_of(had.get(n, ())) == count}
    for given in kept.values():
        for node, gpus in given:
            free[node] -= gpus
    return {n: kept.get(n) or _taken(free, count) for n, count in wanted.items() if count}


def _taken(free: list[int], count: int) -> Given:
    found: list[Share] = []
    while count:
        node = max(range(len(free)), key=free.__getitem__)
        taken = min(free[node], count)
        free[node] -= taken
        count -= taken
        found.append(Share(node, taken))
    return tuple(found)


def pack(cluster: Cluster, jobs: Iterable[Active], wanted: Mapping[int, int]) -> dict[int, Given]:
    """As few nodes for each job as there is room for, and moves jobs to fewer nodes.

    Jobs with an unchanged number keep their GPUs. The others, most GPUs first, take the node with the fewest
    free GPUs that are enough, or all of the freest one, until they have all. Then each job on more nodes than
    it needs moves if it finds fewer.
    """
    had = {job.number: job.given for job in jobs}
    found = {n: had[n] for n, count in wanted.items() if count and size_of(had.get(n, ())) == count}
    free = [cluster.gpus] * cluster.nodes
    for given in found.values():
        _change(free, given, -1)
    for n in sorted((n for n, count in wanted.items() if count and n not in found), key=lambda n: -wanted[n]):
        found[n] = _packed(free, wanted[n])
    for n, given in found.items():
        if len(given) > -(-wanted[n] // cluster.gpus):
            _change(free, given, 1)
            moved = _packed(free, wanted[n])
            if len(moved) < len(given):
                found[n] = moved
            else:
                _change(free, moved, 1)
                _change(free, given, -1)
    return {n: found[n] for n in wanted if n in found}


def _change(free: list[int], given: Given, sign: int) -> None:
    for node, gpus in given:
        free[node] += sign * gpus


def _packed(free: list[int], count: int) -> Given:
    found: list[Share] = []
    while count:
        enough = [node for node, gpus in enumerate(free) if gpus >= count]
        node = min(enough, key=free.__getitem__) if enough else max(range(len(free)), key=free.__getitem__)
        taken = min(free[node], count)
        free[node] -= taken
        count -= taken
        found.append(Share(node, taken))
    return tuple(found)
