"""Run every policy on a training cluster; add one GPU of each type in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from nona.report.text import counted
from nona.study.outcome import about_scenario
from nona.study.provenance import now_text
from nona.study.training.one_more import one_more_gpu
from nona.study.training.preparation import prepare_training
from nona.study.training.run import TRACE_ROUNDS, outcome_of, simulate_training_scenario
from nona.training.engine.options import TrainingProgress
from nona.ui.jobs.desk import Desk, processes
from nona.ui.tasks.reading import scenario_of, sources_of
from nona.ui.tasks.training.asked import OneMoreAsked
from nona.ui.tasks.training.live import TrainingWatch

FEW_JOBS = 300  # in all runs: below, processes of their own cost more than they save
REPORT_EVERY_S = 0.2
MOST_ROUNDS = 2000  # of each policy, whose priorities are kept
MOST_ROWS = 60_000  # of priorities that are kept of each policy, about


def run_training(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Run every policy; the JSON of a :class:`~nona.results.training.outcome.TrainingOutcome`."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    desk.emit({"fraction": 0.0, "text": "Reading the jobs"})
    system = prepare_training(scenario, sources)
    policies = scenario.training.policies if scenario.training else ()
    watch = TrainingWatch(system.cluster, [p.name for p in policies])
    runs = len(policies) * scenario.simulation.replications
    workers = processes(runs * len(system.jobs), FEW_JOBS)
    desk.emit(
        {"fraction": 0.0, "text": f"Starting {counted(runs, 'run')} of {counted(len(system.jobs), 'job')}"}
    )
    told = _teller(desk, watch, runs, in_order=workers == 1)
    rows = len(system.jobs) * len(system.cluster.types)
    kept = min(MOST_ROUNDS, max(TRACE_ROUNDS, MOST_ROWS // rows))
    result = simulate_training_scenario(
        scenario, sources, workers=workers, trace_rounds=kept, on_progress=told
    )
    return outcome_of(result, about_scenario(scenario, scenario, now_text())).to_json()


def _teller(
    desk: Desk, watch: TrainingWatch, runs: int, in_order: bool
) -> Callable[[TrainingProgress], None]:
    """What hears each run; ``in_order``: one run after the other, in this process."""
    last, done = 0.0, dict[tuple[str, int], float]()

    def told(progress: TrainingProgress) -> None:
        nonlocal last
        desk.check()
        watch.take(progress)
        if in_order:  # those that reported before are complete
            done.update(dict.fromkeys(done, 1.0))
        done[progress.policy, progress.replication] = progress.fraction
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            text = f"{progress.policy}, replication {progress.replication + 1}"
            fraction = min(1.0, sum(done.values()) / max(1, runs))
            desk.emit({"fraction": fraction, "text": text, "live": watch.told().to_json()})

    return told


def add_one_gpu(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """One more GPU of each type; the JSON of a :class:`~nona.results.training.one_more.OneMoreReport`."""
    scenario, sources, asked = scenario_of(spec), sources_of(spec), OneMoreAsked.of(spec)
    last = 0.0

    def told(done: float, gpu: str) -> None:
        nonlocal last
        desk.check()
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            desk.emit({"fraction": done, "text": f"One more {gpu}" if gpu else "The cluster as it is"})

    return one_more_gpu(scenario, asked.policy, sources, told).to_json()
