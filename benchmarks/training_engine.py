"""How fast rounds of a training cluster are simulated: jobs per second, and the policy's share of the time.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.training_engine [jobs] [policy]`` (5,000, max-min-fairness). The
jobs are drawn as Gavel's generator draws them, one every 1,600 s on average, on 36 K80, 36 P100 and 36 V100.
"""

from __future__ import annotations

import sys
import time

from nona.allocation.registry import get_policy
from nona.scenario.training import GenerateSpec
from nona.training.generated_jobs import generate
from nona.training.job_files import trace_jobs
from nona.training.metrics import measure
from nona.training.records import run_checks
from nona.training.rounds import RunOptions, simulate_training
from nona.training.system import NodeGroup, TrainingCluster, TrainingSystem
from nona.training.throughput_table import shipped_throughputs

MEAN_GAP_S = 1600.0


def continuous_trace(jobs: int, mean_gap_s: float = MEAN_GAP_S) -> TrainingSystem:
    """The system that is timed."""
    table = shipped_throughputs()
    drawn = generate(GenerateSpec(jobs=jobs, mean_gap=mean_gap_s), table, seed=0)
    groups = tuple(NodeGroup(gpu, 9, 4) for gpu in ("k80", "p100", "v100"))
    return TrainingSystem(TrainingCluster(groups), trace_jobs(drawn, table), table)


def main(jobs: int = 5000, policy: str = "max-min-fairness") -> None:
    """Print the figures of one run."""
    system = continuous_trace(jobs)
    begin = time.perf_counter()
    records = simulate_training(system, get_policy(policy), {}, RunOptions())
    seconds = time.perf_counter() - begin
    found = measure(system, records)
    present = (records.running + records.waiting).mean()
    print(f"{policy}, {jobs:,} jobs on {sum(system.cluster.gpus.values())} GPUs: {seconds:.1f} s")
    print(f"{jobs / seconds:,.1f} jobs/s, {len(records.round_start_s) / seconds:,.0f} rounds/s")
    print(f"{records.decision_s.sum() / seconds:.0%} of it in {found.decisions:,} answers of the policy")
    print(f"{present:.1f} jobs there on average, utilisation {found.utilization:.1%}")
    print(f"mean JCT {found.jct_s.mean / 3600:.2f} h; worst gap {found.worst_gap or 0.0:.1e}")
    failed = [c.name for c in run_checks(system, records) if not c.ok]
    print(f"self-checks: {'all held' if not failed else 'FAILED ' + ', '.join(failed)}")


if __name__ == "__main__":
    main(*(kind(a) for kind, a in zip((int, str), sys.argv[1:], strict=False)))
