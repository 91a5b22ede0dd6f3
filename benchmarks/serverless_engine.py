"""Seconds that 100,000 calls take in the serverless engine, for every policy, on one core.

``python -m benchmarks.serverless_engine [CALLS [SCENARIO]]``. The scenario is the busiest of those that
ship; calls of the warm-up and of the tail are simulated as well and counted here. Goal: at most 60 s a
policy. What a policy prepares (tables, training) is told apart, for it does not grow with the calls.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

from benchmarks.machine import look, verdict
from nona.scenario.file import load_scenario
from nona.serverless.engine.run import RunOptions, simulate_serverless
from nona.serverless.policies.registry import get_policy, policy_names
from nona.serverless.records.checks import run_checks
from nona.serverless.records.overload import judge
from nona.sources.samples import scenario_path
from nona.study.serverless.preparation import prepare_serverless

GOAL_S = 60.0


def main(calls: int = 100_000, scenario: str = "relaxed_heavy") -> None:
    """Print a row for each policy."""
    system = prepare_serverless(load_scenario(scenario_path(scenario)))
    print(f"{scenario}, {calls:,} measured calls, one core\n")
    print("| policy | prepare s | processor s | wall s | calls | batches | plans failed | state | checks |")
    print("|---|---:|---:|---:|---:|---:|---:|---|---|")
    looks, slowest = [look()], 0.0
    for name in policy_names():
        policy = get_policy(name)
        begin = time.process_time()
        planner = policy.prepare(system, {})  # also compiles and warms what is kept
        prepared_s = time.process_time() - begin
        ready = replace(policy, prepare=lambda system, options, planner=planner: planner)
        wall, begin = time.perf_counter(), time.process_time()
        records = simulate_serverless(system, ready, {}, RunOptions(calls=calls))
        busy_s, wall_s = time.process_time() - begin, time.perf_counter() - wall
        slowest = max(slowest, busy_s)
        failed = [c.name for c in run_checks(system, records) if not c.ok]
        attempts = int(np.sum(records.sums.rechecks))
        print(
            f"| {name} | {prepared_s:.2f} | {busy_s:.1f} | {wall_s:.1f} | {len(records.calls.arrival_s):,} "
            f"| {len(records.batches.jobs):,} | {attempts:,} | {judge(records)[0]} | {failed or 'hold'} |",
            flush=True,
        )
    looks.append(look())
    met = "met" if slowest <= GOAL_S else "NOT MET"
    print(f"\ngoal: at most {GOAL_S:g} s a policy: slowest {slowest:.1f} s, {met}")
    print(verdict(looks))


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, str), sys.argv[1:], strict=False)))
