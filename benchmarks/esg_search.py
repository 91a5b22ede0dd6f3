"""How long ESG's search takes: ``python -m benchmarks.esg_search``.

The four first groups of three functions of the shipped serverless scenario as the policy searches them
(times at the scenario's percentile of the noise, with the transfer of the inputs; a queue that fills the
largest batch), 256 configurations per function, K = 5 first configurations. For SLOs of 0.8, 1.0 and 1.2
times the time at the smallest configuration: a queue that has just got its first call (the whole SLO is
left), and slacks drawn from half of the SLO to all of it. Median, 99th percentile and largest processor time
of one search; paths looked at and paths opened (those that no blade cuts), in the middle and at most. Then
what a path and a search cost, from which the policy's default charges stem.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.machine import look, verdict
from nona.scenario.file import load_scenario
from nona.serverless.policies.esg.policy import BASE_S, POLICY
from nona.serverless.policies.esg.search import GroupSearch, SearchResult, compile_searches
from nona.sources.samples import scenario_path
from nona.study.serverless.preparation import prepare_serverless

FACTORS = (0.8, 1.0, 1.2)
K, DRAWS, SEED = 5, 200, 2024
Group = tuple[str, GroupSearch, float]  # whose, the search, seconds at the smallest configuration


def groups() -> list[Group]:
    """The first group of each application, with its share of the time at the smallest configuration."""
    system = prepare_serverless(load_scenario(scenario_path("strict_light")))
    planner, most = POLICY.prepare(system, {}), int(system.space.batch.max())
    return [
        (
            app.name,
            planner.group(number, shares.group[0], most),
            system.smallest_s(app) * shares.of_rest(0),
        )
        for number, (app, shares) in enumerate(zip(system.applications, planner.shares, strict=True))
    ]


def timed(search: GroupSearch, limit_s: float) -> tuple[float, SearchResult]:
    """Processor seconds of one search, and what it found."""
    begin = time.thread_time_ns()
    found = search.search(limit_s, K)
    return (time.thread_time_ns() - begin) / 1e9, found


def line(name: str, spent_s: Sequence[float], found: Sequence[SearchResult]) -> str:
    """One row of the table."""
    looked, opened = [f.looked for f in found], [f.opened for f in found]
    p50, p99 = np.quantile(spent_s, [0.5, 0.99])
    return (
        f"  {name:34s} {p50 * 1e3:9.3f} {p99 * 1e3:9.3f} {max(spent_s) * 1e3:9.3f} ms"
        f" {int(np.median(looked)):11,d} {max(looked):11,d} {int(np.median(opened)):9,d} {max(opened):10,d}"
        f"  ({len(found)} searches)"
    )


def measure(found: list[Group], factor: float) -> list[tuple[int, float]]:
    """Print the rows of one SLO; the paths looked at and the seconds of each search."""
    slacks = np.random.default_rng(SEED).uniform(0.5, 1.0, DRAWS).tolist()
    whole, drawn = [], []
    for _, search, smallest_s in found:
        slo_s = factor * smallest_s
        search.search(slo_s, K)  # tables and memory are there before it counts
        whole += [timed(search, slo_s) for _ in range(DRAWS // 10)]
        drawn += [timed(search, slo_s * x) for x in slacks]
    for name, rows in (("whole SLO left", whole), ("random slack", drawn)):
        print(line(name, [s for s, _ in rows], [f for _, f in rows]))
    return [(f.looked, s) for s, f in whole + drawn]


def main() -> None:
    """Print the tables."""
    looks = [look()]
    compile_searches()
    found, charges = groups(), list[tuple[int, float]]()
    gc.collect()
    gc.freeze()  # else a search now and then pays for going through all that was imported
    times = f"{'median':>9s} {'p99':>9s} {'largest':>9s}"
    print(f"{'':36s} {times}    {'looked at':>11s} {'most':>11s} {'opened':>9s} {'most':>10s}")
    for factor in FACTORS:
        print(f"SLO {factor} L")
        charges += measure(found, factor)
    looked, spent = np.array(charges, dtype=float).T
    step_s = np.maximum(spent - BASE_S, 0).sum() / looked.sum()
    print(f"above {BASE_S * 1e6:.0f} µs a search, {step_s * 1e9:.1f} ns per path looked at")
    looks.append(look())
    print(verdict(looks))


if __name__ == "__main__":
    main()
