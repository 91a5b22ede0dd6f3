"""What hiding the link costs a learned scheduler: decima-blind and decima-link on systems of no training.

At each background load of the link the same drawn systems (seeds of no training) are simulated under every
scheduler with the same jobs. Printed is the geometric mean over the systems of the mean JCT over that of
``least-loaded``, with its 95 % interval (Student's t over the logarithms), and how many systems are
overloaded under a scheduler: there, jobs that are not complete at the end of the run count with their age, so
that the ratios are lower bounds. A system for which ``nona`` has no placement is left out for it.

Run it with ``python -m benchmarks.learned_schedulers [--systems 20] [--jobs 1000]``; some minutes.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from scipy.stats import t as student

from nona.errors import PlacementError
from nona.placement.solve import solve
from nona.schedulers.learned.card import Ranges
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import RunOptions, simulate_run
from nona.system import System
from studies.learning.training import drawn_system

SEED = 4_242
BACKGROUNDS = (0.0, 0.2, 0.4, 0.6, 0.8)
REFERENCE = "least-loaded"
SCHEDULERS = ("local", "opportunistic", "spark-fair", "nona", "decima-blind", "decima-link")


def systems(number: int, background: float) -> list[System]:
    """The same systems at every background but for it."""
    found = []
    for k in range(number):
        ranges = replace(Ranges(), link=(background, background))
        found.append(drawn_system(ranges, np.random.default_rng([SEED, k])))
    return found


def mean_jct_s(system: System, name: str, jobs: int) -> tuple[float, bool]:
    """Mean JCT, jobs that are not complete counted with their age; and whether the run was stable."""
    scheduler = get_scheduler(name)
    placement = solve(system, gap=1e-3) if scheduler.needs_placement else None
    prepared = scheduler.prepare(system, placement, {})
    run = simulate_run(system, scheduler, prepared, RunOptions(jobs=jobs, tail_jobs=jobs))
    done_s = np.where(np.isnan(run.completion_s), run.window_s[1], run.completion_s)
    return float((done_s - run.arrival_s).mean()), run.state == "stable"


def ratio_text(logs: list[float]) -> str:
    """Geometric mean with its interval."""
    mean, n = float(np.mean(logs)), len(logs)
    half = float(student.ppf(0.975, n - 1) * np.std(logs, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return f"{np.exp(mean):.2f} ({np.exp(mean - half):.2f} to {np.exp(mean + half):.2f})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1000)
    given = parser.parse_args()
    print(f"| background of the link | {' | '.join(SCHEDULERS)} |")
    print(f"|---|{'---|' * len(SCHEDULERS)}")
    for background in BACKGROUNDS:
        logs: dict[str, list[float]] = {name: [] for name in SCHEDULERS}
        over = dict.fromkeys(SCHEDULERS, 0)
        for system in systems(given.systems, background):
            reference, _ = mean_jct_s(system, REFERENCE, given.jobs)
            for name in SCHEDULERS:
                try:
                    jct_s, stable = mean_jct_s(system, name, given.jobs)
                except PlacementError:  # no placement is stable
                    over[name] += 1
                    continue
                logs[name].append(float(np.log(jct_s / reference)))
                over[name] += not stable
        cells = (ratio_text(logs[n]) + (f"; {over[n]} overloaded" if over[n] else "") for n in SCHEDULERS)
        print(f"| {background:.0%} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
