"""Time per simulated job as runs and clusters grow, and the memory of a very long run.

``python -m benchmarks.engine_growth [MEMORY_JOBS]``. The system is the fork-join one of ``engine_speed``
at a constant load; the compiled engine where there is one, else the SimPy engine with fewer jobs.
"""

from __future__ import annotations

import math
import platform
import resource
import subprocess
import sys

from benchmarks.fork_join import make_system
from benchmarks.machine import in_turn, look, seconds, verdict
from nona.schedulers.registry import get_scheduler
from nona.simulation.records import Records
from nona.simulation.run import ENGINES, RunOptions, simulate_run

ENGINE = "compiled" if "compiled" in ENGINES else "simpy"
SCALE = 1 if ENGINE == "compiled" else 100  # SimPy gets so many times fewer jobs
REPEATS = 3
LENGTHS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
SERVERS = (8, 80, 800, 8_000)
SERVER_JOBS = 1_000_000
SERVER_REPEATS = 2
MEMORY_JOBS = 10_000_000
LIMIT_BYTES = 2 << 30


def simulate(jobs: int, executors: int = 80, scheduler: str = "random") -> Records:
    """One run of the fork-join system."""
    system = make_system(executors=executors)
    chosen = get_scheduler(scheduler)
    options = RunOptions(jobs=jobs, warmup=0, engine=ENGINE)
    return simulate_run(system, chosen, chosen.prepare(system, None, {}), options)


def lengths() -> None:
    """Time per job from 10⁴ to 10⁶ jobs."""
    per_job = in_turn(
        {str(n): lambda n=n: seconds(lambda: simulate(n)) / n for n in (x // SCALE for x in LENGTHS)}, REPEATS
    )
    print("\n| jobs | µs per job |\n|---:|---:|")
    for n, s in per_job.items():
        print(f"| {int(n):,} | {1e6 * s:.2f} |")
    ratio = max(per_job.values()) / min(per_job.values())
    print(f"goal: flat within 1.5: largest / smallest {ratio:.2f}, {'met' if ratio <= 1.5 else 'NOT MET'}")


def servers(scheduler: str) -> None:
    """Time per job from 8 to 8,000 servers at equal load, with what it takes to set them up.

    At most logarithmic: the time per job grows by no more than log(8,000) / log(8).
    """
    jobs = SERVER_JOBS // SCALE
    per_job = in_turn(
        {str(e): lambda e=e: seconds(lambda: simulate(jobs, e, scheduler)) / jobs for e in SERVERS},
        SERVER_REPEATS,
    )
    print(f"\n| servers, scheduler {scheduler} | µs per job | ms to set up |\n|---:|---:|---:|")
    for e, s in per_job.items():
        start = seconds(lambda e=e: simulate(1, int(e), scheduler))
        print(f"| {int(e):,} | {1e6 * s:.2f} | {1e3 * start:.1f} |")
    growth, most = per_job[str(SERVERS[-1])] / per_job[str(SERVERS[0])], math.log(SERVERS[-1], SERVERS[0])
    met = "met" if growth <= most else "NOT MET"
    print(f"goal: at most logarithmic, a factor of {most:.2f}: {growth:.2f}, {met}")


def memory(jobs: int) -> None:
    """Peak memory of a process that simulates so many jobs and does nothing else."""
    command = [sys.executable, "-m", "benchmarks.engine_growth", "memory", str(jobs)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, took, recorded = answer.stdout.split()
    met = "met" if int(peak) < LIMIT_BYTES else "NOT MET"
    print(f"\nmemory of {jobs:,} jobs, {int(recorded):,} of them recorded: {int(peak) / 2**20:,.0f} MiB")
    print(f"in {float(took):.1f} s; goal: under {LIMIT_BYTES >> 30} GiB, {met}")


def report_memory(jobs: int) -> None:
    """In the child: simulate, and print peak bytes, seconds and rows recorded."""
    records = simulate(jobs)
    unit = 1 if platform.system() == "Darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(peak, records.seconds, len(records.arrival_s))


def main(memory_jobs: int = MEMORY_JOBS // SCALE) -> None:
    """All three, and whether the machine was idle enough."""
    print(f"engine {ENGINE}")
    looks = [look()]
    simulate(1000)  # loads what is compiled
    lengths()
    looks.append(look())
    for scheduler in ("random", "jsq-d"):
        simulate(1000, scheduler=scheduler)
        servers(scheduler)
        looks.append(look())
    memory(memory_jobs)
    looks.append(look())
    print(f"\n{verdict(looks)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        report_memory(int(sys.argv[2]))
    else:
        main(*(int(a) for a in sys.argv[1:]))
