"""Simulate a training scenario: its policies in every replication, the report, what happened."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.base import Policy
from nona.allocation.policies.registry import get_policy
from nona.options import Options
from nona.report.training.outcome import policy_trace
from nona.report.training.report import training_report
from nona.results.about import About
from nona.results.training.extensions import ExtensionFindings
from nona.results.training.outcome import TrainingOutcome
from nona.results.training.report import TrainingReport, TrainingSetting
from nona.scenario.schema import Scenario
from nona.simulation.records.run import Check
from nona.sources.lookup import Sources
from nona.study.training.preparation import prepare_training, training_part
from nona.training.engine.options import OnProgress, RunOptions
from nona.training.model.system import TrainingSystem
from nona.training.records.run import TrainingRecords
from nona.training.records.summary import TrainingSummary, summarise
from nona.training.replications import TrainingRun, run_policies

_NO_SOURCES = Sources()
TRACE_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """Per policy a summary over its replications, and the records of the first.

    ``systems``: that of each replication; ``ideal_jct_s``: mean JCT of the measured jobs in the fluid bound;
    ``checks``: every check of every run; ``setting`` says what was run;
    ``findings``: what switches did in the first replication.
    """

    systems: tuple[TrainingSystem, ...]
    summaries: Mapping[str, TrainingSummary]
    records: Mapping[str, TrainingRecords]
    ideal_jct_s: Mapping[str, float]
    checks: Mapping[str, tuple[Check, ...]]
    seconds: float
    setting: TrainingSetting
    findings: Mapping[str, ExtensionFindings]


def simulate_training_scenario(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    *,
    policies: Sequence[str] = (),
    replications: int | None = None,
    workers: int = 1,
    ideal: bool = True,
    trace_rounds: int = TRACE_ROUNDS,
    on_progress: OnProgress | None = None,
) -> TrainingResult:
    """Run every policy in every replication; all policies see the same jobs and random numbers.

    Parameters
    ----------
    policies
        Names, in place of the scenario's; options are those of the scenario's entry of that name.
    replications
        In place of ``simulation.replications``.
    workers
        Processes; results do not depend on it.
    ideal
        Whether the fluid bound is computed too.
    trace_rounds
        Rounds of the first replication whose priorities are kept.
    on_progress
        Hears each run's own share that is done; may raise :class:`~nona.simulation.run.Cancelled`.

    Raises
    ------
    NonaError
        When the scenario has no training part, or a policy or option is not known.
    """
    begin = time.perf_counter()
    spec = training_part(scenario)
    count = scenario.simulation.replications if replications is None else replications
    systems = tuple(prepare_training(scenario, sources, r) for r in range(max(1, count)))
    chosen = chosen_policies(scenario, policies)
    run = RunOptions(trace_rounds=trace_rounds)
    found = run_policies(systems, chosen, run, ideal=ideal, workers=workers, on_progress=on_progress)
    return TrainingResult(
        systems=systems,
        summaries={
            name: summarise(name, [r.measures for r in runs], (w for r in runs for w in r.warnings))
            for name, runs in found.items()
        },
        records={name: runs[0].records for name, runs in found.items() if runs[0].records is not None},
        ideal_jct_s={name: _ideal(runs) for name, runs in found.items()} if ideal else {},
        checks={name: tuple(c for r in runs for c in r.checks) for name, runs in found.items()},
        seconds=time.perf_counter() - begin,
        setting=_setting(scenario, systems, chosen, spec.throughputs),
        findings={name: runs[0].findings for name, runs in found.items() if runs[0].findings is not None},
    )


def _ideal(runs: Sequence[TrainingRun]) -> float:
    """Mean over replications of the mean JCT of measured jobs."""
    found = [r.ideal_jct_s[r.measures.measured] for r in runs if r.ideal_jct_s is not None]
    means = [float(np.nanmean(jcts)) for jcts in found if np.isfinite(jcts).any()]
    return float(np.mean(means)) if means else float("nan")


def _setting(
    scenario: Scenario,
    systems: Sequence[TrainingSystem],
    policies: Sequence[tuple[Policy, Options]],
    throughputs: str,
) -> TrainingSetting:
    system = systems[0]
    return TrainingSetting(
        name=scenario.name,
        jobs=len(system.jobs),
        measured=system.window,
        replications=len(systems),
        seed=scenario.seed,
        round_s=system.round_s,
        reallocation_s=system.reallocation_s,
        gpus=dict(system.cluster.gpus),
        throughputs=throughputs,
        options={p.name: {**p.defaults, **options} for p, options in policies},
        notes=tuple(system.notes),
    )


def chosen_policies(scenario: Scenario, names: Sequence[str] = ()) -> list[tuple[Policy, Options]]:
    """The policies called ``names`` (none: the scenario's), each with the scenario's options for it.

    Where the scenario shares space, so does every policy that can and whose options do not say otherwise.
    """
    spec = training_part(scenario)
    own = {entry.name: entry.options for entry in spec.policies}
    found: list[tuple[Policy, Options]] = []
    for name in dict.fromkeys(names or own):
        policy, options = get_policy(name), dict(own.get(name, {}))
        if spec.space_sharing and policy.space_sharing and "space_sharing" in policy.defaults:
            options.setdefault("space_sharing", True)
        found.append((policy, options))
    return found


def report_of(result: TrainingResult) -> TrainingReport:
    """The report on a result."""
    return training_report(
        result.systems[0],
        result.summaries,
        result.records,
        result.ideal_jct_s,
        result.checks,
        result.setting,
        result.seconds,
        result.findings,
    )


def outcome_of(result: TrainingResult, about: About) -> TrainingOutcome:
    """The report with its provenance, and what each policy did in the first replication."""
    system = result.systems[0]
    return TrainingOutcome(
        about=about,
        report=report_of(result),
        job_names=tuple(job.name for job in system.jobs),
        types=dict(system.cluster.gpus),
        traces={name: policy_trace(system, records) for name, records in result.records.items()},
    )
