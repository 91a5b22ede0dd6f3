"""Inference jobs: how many replicas keep a rate and an SLO, on which GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, log

MOST_LOAD = 0.8
"""ρ_max: the part of a replica's throughput that queries may use."""
SLO_SHARE = 0.95
"""The part of queries that has to keep the SLO."""


def replica_capacity(throughput: float, slo_s: float | None) -> float:
    """Queries per second that a replica may get: min(ρ_max·μ, μ − ln(1/(1−p))/SLO), at least 0.

    The second holds the share p of response times within the SLO if they are exponential with rate μ − λ, as
    in M/M/1: P(T > t) = e^{−(μ−λ)t}. Replicas share queries in proportion to their capacity.

    >>> replica_capacity(10, None), round(replica_capacity(10, 1.0), 3), replica_capacity(10, 0.1)
    (8.0, 7.004, 0.0)
    """
    by_slo = inf if slo_s is None else throughput - log(1 / (1 - SLO_SHARE)) / slo_s if slo_s > 0 else 0.0
    return max(0.0, min(MOST_LOAD * throughput, by_slo))


def choose_replicas(
    rate: float,
    replicas: int,
    capacity: Mapping[str, float],
    servers: Mapping[str, int],
    prices: Mapping[str, float],
) -> dict[str, int] | None:
    """GPU → replicas, ``replicas`` in all, at most one per server, that serve ``rate`` at the least cost.

    Σ capacity_j·y_j ≥ rate, Σ y_j = replicas, y_j ≤ servers_j; the least Σ price_j·y_j, and among equals the
    least capacity. ``None`` where there is none. Exact: a search over y, cut where the rest cannot serve.

    >>> choose_replicas(12, 3, {"k80": 2, "v100": 8}, {"k80": 5, "v100": 5}, {"k80": 0.5, "v100": 2.5})
    {'k80': 2, 'v100': 1}
    """
    usable = sorted(
        (g for g in capacity if capacity[g] > 0 and servers.get(g, 0)), key=lambda g: -capacity[g]
    )
    best: tuple[float, float, dict[str, int]] | None = None

    def search(
        place: int, left: int, need: float, cost: float, served: float, chosen: dict[str, int]
    ) -> None:
        nonlocal best
        if left == 0:
            if need <= 1e-9 * rate and (best is None or (cost, served) < best[:2]):
                best = (cost, served, dict(chosen))
            return
        if place == len(usable) or need > left * capacity[usable[place]] * (1 + 1e-12):
            return
        gpu = usable[place]
        for count in range(min(left, servers[gpu]), -1, -1):
            more = {**chosen, gpu: count} if count else chosen
            paid, now = cost + count * prices.get(gpu, 0.0), served + count * capacity[gpu]
            search(place + 1, left - count, need - count * capacity[gpu], paid, now, more)

    search(0, replicas, rate, 0.0, 0.0, {})
    return None if best is None else dict(sorted(best[2].items()))
