"""Checkpoint intervals for a scenario's jobs: Young's, Daly's, the formula's best, the best simulated."""

from __future__ import annotations

from collections import Counter
from math import ceil

from nona.allocation.policies.problem import Floats
from nona.errors import ScenarioError
from nona.random_streams import RandomStreams
from nona.report.means import mean_of
from nona.results.training.checkpoints import CheckpointReport, IntervalRow
from nona.scenario.schema import Scenario
from nona.scenario.training_extensions import FailuresSpec
from nona.simulation.statistics.intervals import mean_interval
from nona.sources.lookup import Sources
from nona.study.training.preparation import prepare_training, training_part
from nona.training.checkpoints.intervals import daly_s, exact_s, wall_per_work, young_s
from nona.training.checkpoints.simulation import best_interval, failure_gaps, simulated_wall
from nona.training.model.system import TrainingSystem

_NO_SOURCES = Sources()
FAILURES, REPLICATIONS = 20_000, 10


def checkpoint_report(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    *,
    failures: int = FAILURES,
    replications: int = REPLICATIONS,
) -> CheckpointReport:
    """Compare intervals over the same failures, for every number of nodes that jobs need.

    Raises
    ------
    NonaError
        When the scenario has no failures, checkpoints are free, or it cannot be prepared.
    """
    spec = training_part(scenario).failures
    if spec is None or spec.checkpoint == 0:
        raise ScenarioError(
            ["training: failures with a checkpoint above 0 s are missing; add 'failures: {mtbf: 24 h}'."]
        )
    system = prepare_training(scenario, sources)
    gaps = failure_gaps(RandomStreams(scenario.seed), failures, replications)
    rows = [row for nodes, jobs in sorted(_nodes(system).items()) for row in _rows(spec, nodes, jobs, gaps)]
    return CheckpointReport(
        scenario=scenario.name,
        mtbf_s=spec.mtbf,
        checkpoint_s=spec.checkpoint,
        restart_s=spec.restart,
        failures=failures,
        replications=replications,
        rows=tuple(rows),
    )


def _nodes(system: TrainingSystem) -> Counter[int]:
    """Fewest nodes that training jobs need → how many jobs."""
    most = max(group.gpus for group in system.cluster.groups)
    return Counter(ceil(job.workers / most) for job in system.jobs if job.kind == "training")


def _rows(spec: FailuresSpec, nodes: int, jobs: int, gaps: Floats) -> list[IntervalRow]:
    c, m, r = spec.checkpoint, spec.mtbf / nodes, spec.restart
    intervals = {
        "Young": young_s(c, m),
        "Daly": daly_s(c, m),
        "least of the formula": exact_s(c, m),
        "best simulated": best_interval(c, m, r, gaps).interval_s,
    }
    if not isinstance(spec.interval, str):
        intervals["as given"] = spec.interval
    return [
        IntervalRow(
            nodes=nodes,
            jobs=jobs,
            mtbf_s=m,
            method=method,
            interval_s=tau,
            formula=wall_per_work(tau, c, m, r),
            simulated=mean_of(mean_interval(simulated_wall(tau, c, m, r, gaps))),
        )
        for method, tau in intervals.items()
    ]
