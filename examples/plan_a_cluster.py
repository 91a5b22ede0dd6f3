"""Plan a cluster from a script: how parallel is a model, does splitting help, how many servers?

    python examples/plan_a_cluster.py [--servers 4 8 12 16 24] [--jobs 5000]

The same calls stand behind the app and the command line.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import nona
from nona.cluster.hardware.cluster import Cluster, ServerGroup
from nona.core.errors import PlacementError
from nona.scenario.file import scenario_from_mapping
from nona.scenario.sample_files import load_sample
from nona.scenario.schema import Scenario

SLO_MS = 500.0


@dataclass(frozen=True)
class Plan:
    """What one size of the cluster gives; times in seconds, ``None`` where it is overloaded."""

    servers: int
    placed_s: float | None  # the mean by which the placement was chosen, simulated too
    simulated_s: float | None
    ci95_s: float | None
    slo_hit_rate: float | None


def scenario(servers: int, jobs: int) -> Scenario:
    """A retrieval pipeline with 14 questions a second on ``servers`` servers with one A100 each."""
    text: dict[str, Any] = {
        "version": 1,
        "name": f"{servers} servers",
        "seed": 5,
        "cluster": {
            "servers": [{"count": servers, "gpu": "a100-40gb"}],
            "network": {"capacity": "25 Gbit/s", "latency": "20 us"},
        },
        "background": {"network": {"utilization": 0.2, "mean_size": "1 MB"}},
        "workload": [{"model": "rag_pipeline", "rate": "14/s", "slo": f"{SLO_MS} ms", "service_scv": 0.1}],
        "simulation": {"jobs": jobs, "replications": 3},
        "schedulers": ["nona"],
    }
    return scenario_from_mapping(text)


def plan(servers: int, jobs: int) -> Plan:
    """Place and simulate on ``servers`` servers."""
    prepared = nona.prepare(scenario(servers, jobs))
    try:
        placement = nona.place(prepared)
    except PlacementError as error:
        print(f"{servers} servers: {error}")
        return Plan(servers, None, None, None, None)
    result = nona.simulate(prepared, placement=placement).summaries["nona"].result
    jct, hits = result.jct_s, result.slo_hit_rate
    steady = result.state == "stable"
    return Plan(
        servers,
        placement.objective_s,
        jct.mean if steady else None,
        jct.half_width if steady else None,
        hits.mean if hits else None,
    )


def introduce(name: str, device: str) -> None:
    """Print what a model does on a device, and the most that splitting it can gain."""
    graph = load_sample(name)
    executor = Cluster((ServerGroup(1, device),)).classes[device]
    prepared = nona.prepare_model(graph, (executor,))
    costed = prepared.costed[0]
    print(
        f"{name} on {device}: {len(graph.operators)} operators, {len(prepared.contracted.tasks)} tasks; "
        f"{1e3 * costed.total_compute_s:.1f} ms of work, {1e3 * costed.critical_path_s:.1f} ms on the "
        f"longest path: splitting one query gains at most a factor of {costed.parallelism:.2f}"
    )


def main(arguments: Sequence[str] | None = None) -> list[Plan]:
    """Print a row for each size of the cluster; the least that keeps the SLO for 95 % is the answer."""
    parser = argparse.ArgumentParser(description="Plan a cluster from a script.")
    parser.add_argument("--servers", type=int, nargs="+", default=[4, 8, 12, 16, 24])
    parser.add_argument("--jobs", type=int, default=5000)
    options = parser.parse_args(arguments)
    for name in ("resnet18", "inception_v3", "rag_pipeline"):
        introduce(name, "a100-40gb")
    plans = [plan(servers, options.jobs) for servers in sorted(options.servers)]
    print(f"\n{'servers':>8} {'placed':>10} {'simulated':>19} {f'within {SLO_MS:.0f} ms':>14}")
    for p in plans:
        if p.placed_s is None:
            print(f"{p.servers:>8} {'overloaded':>10}")
            continue
        simulated = "overloaded"
        if p.simulated_s is not None and p.ci95_s is not None:
            simulated = f"{1e3 * p.simulated_s:.1f} ± {1e3 * p.ci95_s:.1f} ms"
        print(f"{p.servers:>8} {1e3 * p.placed_s:>7.1f} ms {simulated:>19} {p.slo_hit_rate or 0:>14.1%}")
    enough = next((p.servers for p in plans if (p.slo_hit_rate or 0) >= 0.95), None)
    print(f"\nServers for 95 % within {SLO_MS:.0f} ms: {enough or 'more than were tried'}")
    return plans


if __name__ == "__main__":
    main()
