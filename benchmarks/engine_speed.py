"""Simulated jobs per second of both engines, of heapq, Ciw and plain C, in one run.

``python -m benchmarks.engine_speed [JOBS [REPEATS]]``. All work on the same pre-drawn numbers, on one
core, in turn; drawing the numbers counts for each of them. Completion instants must agree to the last
bit, or a ratio means nothing. Without run-on, which heapq and C do not have.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import nona
from benchmarks import ciw_queues
from benchmarks.c_loop import CLoop
from benchmarks.fork_join import batched, make_queues, make_system
from benchmarks.heap_loop import HeapLoop
from benchmarks.machine import Measurement, in_turn, look, seconds, verdict
from nona.queries.placement.result import Placement
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.system import System
from nona.scenario.file import load_scenario
from nona.scenario.sample_files import scenario_path

FAST = 20  # machine code gets so many times the jobs, so that it runs long enough to be timed
HEAP, CIW, C, C_LOOP = "heapq loop", "Ciw", "C loop", "C loop, without drawing"
ENGINE_TITLES = {"simpy": "SimPy engine", "compiled": "compiled engine"}
FIVE_MODELS = "five_models_80_servers"
PLACERS = ("random", "spread", "nona")


@dataclass(frozen=True, slots=True)
class Entry:
    """A way to simulate: ``run(n)`` returns the completion instants of the first n jobs; ``prepare(n)``
    is done before the clock starts; ``exact``: they must agree to the last bit."""

    run: Callable[[int], NDArray[np.float64]]
    jobs: int
    prepare: Callable[[int], None] = lambda n: None
    exact: bool = True


def engines(system: System, scheduler: str, placement: Placement | None, jobs: int) -> dict[str, Entry]:
    """The product's own engines."""
    chosen = get_scheduler(scheduler)
    prepared = chosen.prepare(system, placement if chosen.needs_placement else None, {})

    def own(engine: str) -> Callable[[int], NDArray[np.float64]]:
        def run(n: int) -> NDArray[np.float64]:
            options = RunOptions(jobs=n, warmup=0, run_on=False, engine=engine, record_jobs=n)
            return simulate_run(system, chosen, prepared, options).completion_s

        return run

    times = {"simpy": 1, "compiled": FAST}
    return {ENGINE_TITLES[engine]: Entry(own(engine), times[engine] * jobs) for engine in ENGINE_TITLES}


def loops(system: System, jobs: int) -> dict[str, Entry]:
    """The plain loops, with random placement."""
    chosen = get_scheduler("random")
    prepared = chosen.prepare(system, None, {})
    found = {HEAP: Entry(lambda n: np.array(HeapLoop(system, chosen, prepared).run(n)), jobs)}
    try:
        loop = CLoop(system)
    except FileNotFoundError as error:
        print(f"C loop skipped: {error}")
        return found
    held = []

    def draw(n: int) -> None:
        held[:] = loop.draw(n)

    found[C] = Entry(lambda n: loop.run(loop.draw(n), n), FAST * jobs)
    found[C_LOOP] = Entry(lambda n: loop.run(held, n), FAST * jobs, draw)
    return found


def measure(title: str, entries: Mapping[str, Entry], repeats: int) -> dict[str, float]:
    """Jobs per second of each entry; prints them as a Markdown table."""
    reference: NDArray[np.float64] | None = None
    agreement = {}
    for name, entry in entries.items():  # also warms caches
        entry.prepare(entry.jobs)
        found = entry.run(entry.jobs)
        reference = found if reference is None else reference
        agreement[name] = _agreement(name, found, reference, entry.exact)

    def timed(entry: Entry) -> Callable[[], float]:
        def once() -> float:
            entry.prepare(entry.jobs)
            return entry.jobs / seconds(lambda: entry.run(entry.jobs))

        return once

    rates = in_turn({name: timed(entry) for name, entry in entries.items()}, repeats)
    first = next(iter(rates.values()))
    print(f"\n{title}\n\n| implementation | jobs/s | ratio | completion instants |\n|---|---:|---:|---|")
    for name, rate in rates.items():
        print(f"| {name} | {rate:,.0f} | {rate / first:.3g} | {agreement[name]} |", flush=True)
    return rates


def _agreement(name: str, found: NDArray[np.float64], reference: NDArray[np.float64], exact: bool) -> str:
    n = min(len(found), len(reference))
    if np.array_equal(found[:n], reference[:n]):
        return "equal" if found is not reference else "reference"
    worst = float(np.max(np.abs(found[:n] - reference[:n])))
    if exact or not worst < 1e-9:
        raise SystemExit(f"{name}: completion instants differ by up to {worst:g} s; no ratio means anything")
    return f"within {worst:.0e} s"


def _goal(text: str, value: float, goal: float) -> None:
    print(f"goal: {text} at least {goal:g}: {value:.3g}, {'met' if value >= goal else 'NOT MET'}", flush=True)


def micro(jobs: int, repeats: int) -> None:
    """Fork-join jobs on 80 executors, all implementations."""
    system = make_system()
    rates = measure(
        "Fork-join jobs of 8 tasks on 80 executors, one link, random placement",
        engines(system, "random", None, jobs) | loops(system, jobs),
        repeats,
    )
    compiled = rates.get(ENGINE_TITLES["compiled"])
    if compiled and C in rates:
        _goal("compiled / C loop, both with the drawing of the numbers,", compiled / rates[C], 0.7)
        print(f"compiled / C loop without the drawing: {compiled / rates[C_LOOP]:.2f}")


def five_models(jobs: int, repeats: int) -> None:
    """The shipped scenario with its background, for schedulers that do not look at the state."""
    prepared = nona.prepare(load_scenario(scenario_path(FIVE_MODELS)))
    placement = nona.place(prepared)
    for scheduler in PLACERS:
        rates = measure(
            f"{FIVE_MODELS}, background on, scheduler {scheduler}",
            engines(prepared.system, scheduler, placement, jobs),
            repeats,
        )
        _goal("compiled / SimPy engine", rates[ENGINE_TITLES["compiled"]] / rates[ENGINE_TITLES["simpy"]], 8)


def queues(jobs: int, repeats: int) -> None:
    """Independent queues: Ciw has no jobs that fork and join."""
    system = make_queues()
    entries = engines(system, "random", None, jobs) | loops(system, jobs)
    if ciw_queues.INSTALLED and C in entries:
        loop = CLoop(system)
        entries[CIW] = Entry(lambda n: ciw_queues.run_ciw(loop, n), jobs, exact=False)
    else:
        print("\nCiw skipped: it needs a C compiler beside it and `pip install ciw`")
    measure(
        "80 independent queues M/M/1, load 0.7 (one task per job: Ciw has no fork and join)", entries, repeats
    )


def batches(jobs: int, repeats: int) -> None:
    """The fork-join jobs on the compiled engine, with and without batches."""
    compiled = ENGINE_TITLES["compiled"]

    def timed(largest: int) -> Callable[[], float]:
        system = batched(make_system(), largest)
        entry = engines(system, "random", None, jobs)[compiled]
        return lambda: entry.jobs / seconds(lambda: entry.run(entry.jobs))

    sizes = {"one query at a time": 0, "batches of up to 8": 8, "batches of up to 32": 32}
    rates = in_turn({name: timed(largest) for name, largest in sizes.items()}, repeats)
    alone = next(iter(rates.values()))
    print(f"\nFork-join jobs of 8 tasks on 80 executors, {compiled}\n\n| executors take | jobs/s | ratio |")
    print("|---|---:|---:|")
    for name, rate in rates.items():
        print(f"| {name} | {rate:,.0f} | {rate / alone:.3g} |", flush=True)


def main(jobs: int = 5000, repeats: int = 3) -> None:
    """All systems, and whether the machine was idle enough."""
    looks: list[Measurement] = [look()]
    for part in (micro, batches, five_models, queues):
        part(jobs, repeats)
        looks.append(look())
    print(f"\n{verdict(looks)}")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
