"""Is the chosen placement the best there is? Small random systems, every pure configuration simulated.

Systems of one or two models with two or three interior tasks: one link or cards and racks, one or two classes
of GPUs, Poisson arrivals or bursts, with and without background. Every pure configuration of all sub-graphs
together is simulated; those that are best are simulated again, with more jobs and other seeds. Beside them
stands the placement that the program chooses, simulated with the same jobs.
``python -m benchmarks.small_placements [SYSTEMS [FIRST]]``
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
from typing import Any

import numpy as np

from nona.core.arrays import Floats
from nona.queries.placement.proposals import choices, groups_of, starts
from nona.queries.placement.result import Queries
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.schedulers.sampling_tables import build_tables
from nona.queries.simulation.run import RunOptions, job_times
from nona.queries.system import System
from nona.queries.workflows.placing import place_system
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import parse_scenario

FAST, SLOW = "a100-40gb", "l4"
FRESH = 500_000  # number of the first replication: no choice has seen these random numbers


def random_system(number: int) -> dict[str, Any]:
    """A scenario as its file has it; ``number`` decides all."""
    rng = np.random.default_rng(number)
    kind = ("one link", "two models", "classes", "bursts", "racks")[number % 5]
    models, rows, work, bytes_away = {}, [], 0.0, 0.0
    for j in range(2 if kind == "two models" else 1):
        interior = 2 if kind in ("two models", "classes") else int(rng.integers(2, 4))
        graph, seconds, crossing = _graph(rng, interior, kind == "classes")
        name = f"model {j}"
        models[name] = graph
        share = float(rng.uniform(0.3, 1.0))
        rows.append({"model": name, "rate": share})
        work += share * seconds
        bytes_away += share * crossing
    servers = int(rng.integers(4, 9))
    background = float(rng.choice([0.0, 0.1]))
    rate = float(rng.uniform(0.25, 0.7)) * servers / work
    load = float(rng.uniform(0.15, 0.8))
    quiet = float(rng.choice([0.0, 0.3]))
    gbit = max(8e-9 * rate * bytes_away / load, 0.5)
    for row in rows:
        row["rate"] = f"{rate * row['rate']:.4g}/s"
        if kind == "bursts":
            row["arrivals"] = {"process": "gamma", "cv": float(rng.uniform(1.5, 3))}
        row["service_scv"] = float(rng.choice([0.0, 0.3]))
    network: dict[str, Any] = {"capacity": f"{gbit:.4g} Gbit/s", "latency": "0.05 ms"}
    groups = [{"count": servers, "gpu": FAST}]
    if kind == "racks":
        network |= {"nic": f"{gbit / 3:.4g} Gbit/s", "racks": {"size": 3, "uplink": f"{gbit / 2:.4g} Gbit/s"}}
    if kind == "classes":
        groups = [{"count": servers - 2, "gpu": FAST}, {"count": 2, "gpu": SLOW}]
    return {
        "version": 1,
        "name": f"{kind} {number}",
        "seed": number,
        "cluster": {"servers": groups, "network": network},
        "background": {
            "compute": {"utilization": background, "mean_service": "5 ms", "scv": 1},
            "network": {"utilization": quiet, "mean_size": "1 MB", "scv": 1},
        },
        "models": models,
        "workload": rows,
        "schedulers": ["nona", "local", "spread"],
    }


def _graph(rng: np.random.Generator, interior: int, classes: bool) -> tuple[dict[str, Any], float, float]:
    """A root, ``interior`` tasks, some in a chain, and a sink; its seconds, and its bytes if all cross."""
    ms = [float(rng.uniform(0.3, 2)), *rng.uniform(2, 12, interior).tolist(), float(rng.uniform(0.3, 3))]
    chained = interior == 3 and rng.random() < 0.4
    arcs = [(0, v) for v in range(1, interior + 1) if not (chained and v == 2)]
    arcs += [(v, interior + 1) for v in range(1, interior + 1) if not (chained and v == 1)]
    arcs += [(1, 2)] if chained else []
    slow = float(rng.uniform(1.5, 2.5))
    nodes = [
        {
            "id": f"t{v}",
            "compute_ms": {FAST: round(t, 3), SLOW: round(t * slow, 3)} if classes else round(t, 3),
        }
        for v, t in enumerate(ms)
    ]
    edges = [
        {"source": f"t{a}", "target": f"t{b}", "bytes": float(round(rng.uniform(0.1, 4) * 1e6))}
        for a, b in arcs
    ]
    graph = {"directed": True, "multigraph": False, "graph": {}, "nodes": nodes, "edges": edges}
    return graph, sum(ms) / 1e3, sum(float(e["bytes"]) for e in edges)


def system_of(number: int) -> System:
    return prepare(parse_scenario(json.dumps(random_system(number)))).system


def simulated_s(
    system: System, queries: Queries, shares: Floats | None, jobs: int, runs: int, first: int
) -> float:
    """Mean JCT in seconds; infinite where jobs were not completed."""
    tables = build_tables(system, queries, shares=shares)
    means = []
    for run in range(runs):
        options = RunOptions(
            jobs=jobs, warmup=jobs // 5, replication=first + run, engine="compiled", tail_jobs=jobs
        )
        times_s = job_times(system, get_scheduler("nona"), tables, options).times_s
        if np.isnan(times_s).any():
            return math.inf
        means.append(float(times_s.mean()))
    return float(np.mean(means))


def best_pure(system: System, shares: Floats | None) -> tuple[float, Queries]:
    """The best of all pure configurations, and its mean JCT by many jobs."""
    local = next(c.queries for c in starts(system, shares) if c.origin == "local")
    groups = groups_of(system, local)
    found = []
    for rows in itertools.product(*(choices(system, g, local) for g in groups)):
        queries = local
        for group, row in zip(groups, rows, strict=True):
            queries = group.placed(queries, row)
        found.append((simulated_s(system, queries, shares, 4000, 1, FRESH + 100), len(found), queries))
    found.sort(key=lambda f: f[:2])
    again = [(simulated_s(system, q, shares, 20_000, 3, FRESH), n, q) for _, n, q in found[:6]]
    best = min(again, key=lambda f: f[:2])
    return best[0], best[2]


def main(systems: int = 40, first: int = 0) -> None:
    near = 0
    behind = []
    for number in range(first, first + systems):
        system = system_of(number)
        began = time.perf_counter()
        chosen = place_system(system)
        seconds = time.perf_counter() - began
        own = simulated_s(system, chosen.queries, chosen.class_shares, 20_000, 3, FRESH)
        fixed = {
            c.origin: simulated_s(system, c.queries, c.shares, 20_000, 3, FRESH)
            for c in starts(system, None)
            if c.origin in ("local", "spread")
        }
        best = best_pure(system, chosen.class_shares)[0]
        loss = own / min(best, *fixed.values()) - 1
        near += loss < 0.01
        behind += [n for n, value in fixed.items() if own > 1.005 * value]
        others = ", ".join(f"{n} {1e3 * v:.3f}" for n, v in fixed.items())
        print(
            f"{random_system(number)['name']:14} chosen {1e3 * own:8.3f} ms in {seconds:5.2f} s, best pure "
            f"{1e3 * best:8.3f}, {others}; {100 * loss:+.2f} %",
            flush=True,
        )
    print(f"within 1 % of the best: {near} of {systems}; behind local or spread: {len(behind)}")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
