"""What drawing executor classes by optimised shares gains over drawing every executor alike.

Predicted and simulated on the same random numbers; CPU seconds of both placements.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from nona.errors import PlacementError
from nona.placement.result import Placement
from nona.placement.solve import solve
from nona.scenario.file import load_scenario, scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.sources.samples import scenario_path
from nona.study.preparation import Study, prepare
from nona.study.simulation import simulate

RATES = (0.5, 1.0, 1.5)
MIXED = {
    "version": 1,
    "seed": 3,
    "cluster": {
        "servers": [{"count": 4, "gpu": "a100-40gb"}, {"count": 8, "gpu": "t4"}],
        "network": {"capacity": "100 Gbit/s", "latency": "20 us"},
    },
    "background": {"compute": {"utilization": 0.1}, "network": {"utilization": 0.2}},
    "workload": [
        {"model": "resnet18", "rate": "1500/s"},
        {"model": "vgg16", "rate": "300/s"},
        {"model": "bert_base", "rate": "150/s"},
        {"model": "inception_v3", "rate": "200/s"},
    ],
    "schedulers": ["nona"],
}


def main() -> None:
    """Print a line for each system and rate."""
    print(
        f"{'system':24} {'rates':>6} {'alike ms':>9} {'shares ms':>9} {'ratio':>6} {'simulated':>16} "
        f"{'CPU s':>12}"
    )
    for name, scenario in (
        ("mig_layouts", load_scenario(scenario_path("mig_layouts"))),
        ("4 A100 + 8 T4", scenario_from_mapping(MIXED)),
    ):
        for factor in RATES:
            print(_line(name, factor, prepare(_scaled(scenario, factor))), flush=True)


def _scaled(scenario: Scenario, factor: float) -> Scenario:
    rows = tuple(r.model_copy(update={"rate": r.rate * factor}) for r in scenario.workload)
    only = tuple(s for s in scenario.schedulers if s.name == "nona")
    length = scenario.simulation.model_copy(update={"jobs": 30_000, "replications": 4})
    return scenario.model_copy(update={"workload": rows, "schedulers": only, "simulation": length})


def _line(name: str, factor: float, study: Study) -> str:
    best, best_cpu = _solved(study, "optimal")
    head = f"{name:24} {factor:6.2f}"
    if best is None:
        return f"{head} overloaded at any shares"
    alike, alike_cpu = _solved(study, "uniform")
    own = f"{1e3 * best.prediction.jct_s:9.3f}"
    cpu = f"{alike_cpu:5.2f} {best_cpu:6.2f}"
    if alike is None:
        return f"{head} {'overload':>9} {own} {'':6} {'':16} {cpu:>12}"
    ratios = _mean_jct(study, best) / _mean_jct(study, alike)
    spread = ratios.std(ddof=1) / np.sqrt(len(ratios)) * 3.18  # Student's t, 95 %, 3 degrees of freedom
    told = f"{ratios.mean():.3f} ± {spread:.3f}"
    ratio = best.prediction.jct_s / alike.prediction.jct_s
    told = f"{1e3 * alike.prediction.jct_s:9.3f} {own} {ratio:6.3f} {told:>16}"
    return f"{head} {told} {cpu:>12}"


def _solved(study: Study, shares: str) -> tuple[Placement | None, float]:
    begin = time.process_time()
    try:
        found: Placement | None = solve(study.system, shares=shares)
    except PlacementError:
        found = None
    return found, time.process_time() - begin


def _mean_jct(study: Study, placement: Placement) -> Any:
    """Simulated mean JCT of each replication, the same arrivals and services for every placement."""
    runs = simulate(study, placement=placement).records["nona"]
    return np.array([float(np.mean(r.completion_s - r.arrival_s)) for r in runs])


if __name__ == "__main__":
    main()
