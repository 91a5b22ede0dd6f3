"""Seconds that 100,000 calls take in the serverless engine, for every policy, on one core.

``python -m benchmarks.serverless_engine [CALLS [SCENARIO]]``. Without a scenario, at the three
settings that ship; the loading of the machine code is told apart. Calls of the warm-up and of the tail are
simulated as well, and counted here. Goal: at most 5 s of the processor a policy for 100,000 measured calls,
in proportion for others. What a policy prepares (tables, training) is told apart, for it does not grow with
the calls.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from benchmarks.machine import look, verdict
from nona.scenario.file import load_scenario
from nona.serverless.checks import run_checks
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.metrics import judge
from nona.serverless.policies.registry import get_policy, policy_names
from nona.serverless.system import ServerlessSystem
from nona.sources.samples import scenario_path
from nona.study.serverless.preparation import prepare_serverless

GOAL_S = 5.0  # for so many calls:
GOAL_CALLS = 100_000
SETTINGS = ("strict_light", "moderate_normal", "relaxed_heavy")
HEADS = "policy|prepare s|processor s|of the goal|wall s|calls|calls/s|batches|plans failed|state|checks"


def main(calls: int = GOAL_CALLS, scenario: str = "") -> None:
    """Print a table for each setting, and whether the goal is met."""
    looks, shares = [look()], []
    for name in (scenario,) if scenario else SETTINGS:
        system = prepare_serverless(load_scenario(scenario_path(name)))
        begin = time.process_time()
        simulate_serverless(system, get_policy("fixed"), {}, RunOptions(calls=1, warmup=0))
        loaded_s = time.process_time() - begin
        print(f"{name}, {calls:,} measured calls, one core (machine code loaded in {loaded_s:.1f} s)\n")
        print(f"| {HEADS.replace('|', ' | ')} |\n|---|{'---:|' * 8}---|---|")
        shares += [_row(system, policy, calls) for policy in policy_names()]
        print()
    looks.append(look())
    met = "met" if max(shares) <= 1 else f"NOT MET by {sum(share > 1 for share in shares)} of {len(shares)}"
    print(f"goal: at most {GOAL_S:g} s a policy for {GOAL_CALLS:,} calls: slowest {max(shares):.0%}, {met}")
    print(verdict(looks))


def _row(system: ServerlessSystem, name: str, calls: int) -> float:
    """Print one policy's row; its processor seconds as a share of the goal."""
    policy = get_policy(name)
    begin = time.process_time()
    planner = policy.prepare(system, {})  # also compiles and warms what is kept
    prepared_s = time.process_time() - begin
    ready = replace(policy, build=lambda system, options: planner)
    wall, begin = time.perf_counter(), time.process_time()
    records = simulate_serverless(system, ready, {}, RunOptions(calls=calls))
    busy_s, wall_s = time.process_time() - begin, time.perf_counter() - wall
    share, simulated = busy_s / (GOAL_S * calls / GOAL_CALLS), len(records.calls.arrival_s)
    failed = [c.name for c in run_checks(system, records) if not c.ok]
    print(
        f"| {name} | {prepared_s:.2f} | {busy_s:.2f} | {share:.0%} | {wall_s:.1f} | {simulated:,} "
        f"| {simulated / busy_s:,.0f} | {len(records.batches.jobs):,} | {records.sums.rechecks:,} "
        f"| {judge(system, records)[0]} | {failed or 'hold'} |",
        flush=True,
    )
    return share


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, str), sys.argv[1:], strict=False)))
