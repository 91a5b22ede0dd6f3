"""Jobs per second of every scheduler in the compiled engine: five models, 80 servers, background, one core.

``python -m benchmarks.scheduler_speed [JOBS [REPEATS [SCHEDULER …]]]``; the best of the repeats counts. For
schedulers that decide in rounds it also says how long a round takes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import nona
from benchmarks.machine import seconds
from nona.queries.placement.solve import solve
from nona.queries.schedulers.base import Allocate, Allotment, RoundInput, SchedulerTables
from nona.queries.schedulers.registry import get_scheduler, scheduler_names
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.scenario.file import load_scenario
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import scenario_path

SCENARIO = "five_models_80_servers"


@dataclass
class Timed:
    """Asks ``allocate`` and counts rounds and seconds."""

    allocate: Allocate
    rounds: int = 0
    seconds: float = 0.0

    def __call__(self, seen: RoundInput, memory: Any) -> Allotment:
        begin = perf_counter()
        found = self.allocate(seen, memory)
        self.rounds += 1
        self.seconds += perf_counter() - begin
        return found


def watched(prepared: SchedulerTables) -> tuple[SchedulerTables, Timed | None]:
    """The same, with its rounds timed."""
    if prepared.allocate is None:
        return prepared, None
    timed = Timed(prepared.allocate)
    return prepared._replace(allocate=timed), timed


def main(jobs: int = 100_000, repeats: int = 3, *names: str) -> None:
    """Print a row for each scheduler as soon as it is measured."""
    path = scenario_path(SCENARIO)
    system = nona.prepare(load_scenario(path), Sources(path.parent)).system
    placement = solve(system)
    print("| scheduler | jobs/s | a round |\n|---|---:|---:|")
    for name in names or scheduler_names():
        scheduler = get_scheduler(name)
        prepared, timed = watched(scheduler.prepare(system, placement, {}))

        def run(n: int, chosen: Any = scheduler, tables: SchedulerTables = prepared) -> None:
            simulate_run(system, chosen, tables, RunOptions(jobs=n, warmup=0, engine="compiled"))

        run(1000)
        rate = jobs / min(seconds(lambda of=run: of(jobs)) for _ in range(repeats))
        a_round = f"{1e3 * timed.seconds / timed.rounds:.2f} ms" if timed and timed.rounds else ""
        print(f"| {name} | {rate:,.0f} | {a_round} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
