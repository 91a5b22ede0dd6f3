"""Queueing prediction against simulation, the link's background swept from 0 to 0.9.

For every shipped sweep scenario, scheduler and level: predicted and simulated mean JCT, the error, and
whether it is within 10 %. ``python -m benchmarks.prediction_vs_simulation [JOBS [REPLICATIONS]]``
"""

from __future__ import annotations

import sys

from nona.samples import scenario_path
from nona.scenario_file import load_scenario
from nona.study import SweepPoint, sweep, with_value
from nona.units import format_time

SCENARIOS = ("five_models_80_servers", "background_sweep")
LEVELS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
PATH = "background.network.utilization"


def main(jobs: int = 8000, replications: int = 3) -> None:
    """Print a table for each scenario, and how many points are within 10 %."""
    for name in SCENARIOS:
        scenario = load_scenario(scenario_path(name))
        scenario = with_value(scenario, "simulation.jobs", jobs)
        scenario = with_value(scenario, "simulation.replications", replications)
        print(f"{name}: {jobs} jobs × {replications} replications, {PATH} swept")
        print(f"{'level':>6}  {'scheduler':<8} {'predicted':>10} {'simulated':>22} {'error':>7}  link busy")
        found = [_line(p) for p in sweep(scenario, PATH, LEVELS)]
        known = [e for e in found if e is not None]
        within = sum(abs(e) <= 0.1 for e in known)
        print(f"within 10 %: {within} of {len(known)} points that have a steady state in both\n")


def _line(point: SweepPoint) -> float | None:
    mean = point.summary.jct.mean
    stable = point.summary.state == "stable"
    simulated = f"{format_time(mean.mean)} ± {format_time(mean.half_width)}" if stable else "overloaded"
    predicted = "overloaded" if point.predicted_s is None else format_time(point.predicted_s)
    error = "" if point.error is None else f"{point.error:+.1%}"
    print(
        f"{point.value:6.2f}  {point.scheduler:<8} {predicted:>10} {simulated:>22} {error:>7}  "
        f"{point.summary.utilization_network:.0%}"
    )
    return point.error


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
