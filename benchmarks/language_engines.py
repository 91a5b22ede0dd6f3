"""Requests a second in the loop of language engines, on one core.

``python -m benchmarks.language_engines [REQUESTS]``. Prompts of 512 and answers of 128 tokens, caches that
preempt and caches that do not, one engine and eight under a router that looks at all. Goal: 300,000 a second.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.machine import look, verdict
from nona.language.draws import draw_requests
from nona.language.records import Window
from nona.language.run import simulate_once
from nona.language.system import Engine, LanguageSystem, Lengths, RequestClass, StepTimes

GOAL = 300_000
STEPS = StepTimes(6.367e-3, 11.2e-6, 41.9e-9, 17.6e-6, 1.69e-9)
CASES = (
    ("one engine, 25,000 blocks", 30.0, 25_000, 1, "round-robin"),
    ("one engine, 3,000 blocks, overloaded", 45.0, 3000, 1, "round-robin"),
    ("eight engines", 240.0, 25_000, 8, "least-kv"),
)


def main(requests: int = 100_000) -> None:
    """Print a row for each case, and whether the goal is met."""
    looks, slowest = [look()], float("inf")
    print("| case | preemptions | requests/s |\n|---|---:|---:|")
    for name, rate, blocks, engines, router in CASES:
        row = RequestClass("chat", "llm", rate, Lengths(np.array([[512, 128]])))
        each = tuple(Engine(f"gpu {k}", "llm", STEPS, blocks) for k in range(engines))
        system = LanguageSystem(each, (row,))
        simulate_once(system, draw_requests(system, 100, 0), router, Window(10))  # loads or compiles
        speed, preempted = _speed(system, router, requests)
        slowest = min(slowest, speed)
        print(f"| {name} | {preempted:,} | {speed:,.0f} |", flush=True)
    looks.append(look())
    print(f"\ngoal: {GOAL:,} requests/s: slowest {slowest:,.0f}, {'met' if slowest >= GOAL else 'NOT MET'}")
    print(verdict(looks))


def _speed(system: LanguageSystem, router: str, count: int) -> tuple[float, int]:
    drawn = draw_requests(system, count, 0)
    begin = time.process_time()
    run = simulate_once(system, drawn, router, Window(len(drawn)))
    return len(drawn) / (time.process_time() - begin), int(run.times.preemptions.sum())


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:2]))
