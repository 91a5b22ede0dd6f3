"""Simulate a serverless scenario: its policies, their summaries, and the oracle."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nona.options import Options
from nona.report.serverless.report import Check, serverless_report
from nona.results.serverless.report import Oracle, ServerlessReport, Setting
from nona.scenario.schema import Scenario
from nona.scenario.serverless import ServerlessSpec
from nona.serverless.engine.run import RunOptions, ServerlessProgress
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.oracle import HOW
from nona.serverless.oracle import oracle as bound_of
from nona.serverless.policies.base import Policy
from nona.serverless.policies.registry import get_policy
from nona.serverless.records.checks import checks_of
from nona.serverless.records.metrics import ServerlessSummary, summarise
from nona.serverless.records.run import ServerlessRecords
from nona.serverless.replications import run_policies
from nona.sources.lookup import Sources
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.warmup import mser_calls, warmup_calls
from nona.study.sweeps.numbers import with_value

_NO_SOURCES = Sources()
CURVE = 20
OnProgress = Callable[[ServerlessProgress], None]


@dataclass(frozen=True, eq=False)
class ServerlessResult:
    """The result: per policy a summary over its replications and the records of each.

    ``checks``: policy → rows of (name, held, detail); ``setting`` says what was run.
    """

    system: ServerlessSystem
    summaries: Mapping[str, ServerlessSummary]
    records: Mapping[str, tuple[ServerlessRecords, ...]]
    oracle: Oracle | None
    checks: Mapping[str, tuple[Check, ...]]
    seconds: float
    setting: Setting


def simulate_serverless_scenario(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    *,
    system: ServerlessSystem | None = None,
    policies: Sequence[str] = (),
    calls: int | None = None,
    replications: int | None = None,
    workers: int = 1,
    stories: int = 0,
    snapshot_s: float | None = None,
    oracle: bool = True,
    on_progress: OnProgress | None = None,
) -> ServerlessResult:
    """Run every policy in every replication; equal random numbers for all policies.

    Parameters
    ----------
    system
        What the scenario is prepared to, where that has been done already.
    policies
        Names, in place of the scenario's; options are those of the scenario's entry of that name.
    calls, replications
        In place of ``simulation.jobs`` and ``simulation.replications``.
    workers
        Processes; results do not depend on it.
    stories, snapshot_s
        As :class:`~nona.serverless.engine.options.RunOptions` has them.
    on_progress
        May raise :class:`~nona.simulation.run.Cancelled`.

    Raises
    ------
    NonaError
        When the scenario is not serverless, or a policy or option is not known.
    """
    begin = time.perf_counter()
    system = prepare_serverless(scenario, sources) if system is None else system
    chosen = chosen_policies(scenario, policies)
    measured = scenario.simulation.jobs if calls is None else calls
    run = RunOptions(
        calls=measured,
        warmup=_warmup(scenario, system, chosen, measured, workers),
        stories=stories,
        snapshot_s=snapshot_s,
    )
    count = scenario.simulation.replications if replications is None else replications
    records = run_policies(system, chosen, run, count, workers, on_progress)
    return ServerlessResult(
        system=system,
        summaries={name: summarise(system, runs) for name, runs in records.items()},
        records=records,
        oracle=told_oracle(system, run, count) if oracle else None,
        checks={
            name: tuple((c.name, c.ok, c.detail) for c in checks_of(system, runs))
            for name, runs in records.items()
        },
        seconds=time.perf_counter() - begin,
        setting=_setting(scenario, system, run, count, chosen),
    )


def _setting(
    scenario: Scenario,
    system: ServerlessSystem,
    run: RunOptions,
    replications: int,
    policies: Sequence[tuple[Policy, Options]],
) -> Setting:
    """What was run."""
    return Setting(
        name=scenario.name,
        calls=run.calls,
        warmup=run.first,
        replications=replications,
        seed=scenario.seed,
        sharing=system.sharing.mode,
        nodes=len(system.invokers),
        configurations=len(system.space),
        options={p.name: {**p.defaults, **options} for p, options in policies},
        notes=tuple(system.notes),
    )


def report_of(result: ServerlessResult) -> ServerlessReport:
    """The report on a result."""
    return serverless_report(result.summaries, result.setting, result.oracle, result.checks, result.seconds)


def told_oracle(system: ServerlessSystem, run: RunOptions | None = None, replications: int = 1) -> Oracle:
    """The least that the calls of ``run`` can cost; without it calls at large."""
    bound = bound_of(system, run, replications)
    shares = [bound.most_hits * k / CURVE for k in range(CURVE + 1)]
    return Oracle(
        cost_per_call_usd=bound.cost_per_call_usd(1.0),
        cost_per_hit_usd=bound.cost_per_hit_usd,
        most_hits=bound.most_hits,
        curve=tuple((share, bound.cost_per_call_usd(share)) for share in shares),
        how=HOW,
    )


def chosen_policies(scenario: Scenario, names: Sequence[str] = ()) -> list[tuple[Policy, Options]]:
    """The policies called ``names`` (none: the scenario's), each with the scenario's options for it."""
    spec = scenario.serverless or ServerlessSpec()
    own = {entry.name: entry.options for entry in spec.policies}
    return [(get_policy(name), own.get(name, {})) for name in dict.fromkeys(names or own)]


def _warmup(
    scenario: Scenario,
    system: ServerlessSystem,
    policies: Sequence[tuple[Policy, Options]],
    calls: int,
    workers: int,
) -> int:
    """Calls before the window: the scenario's number, what pilots show, or enough for cold starts to end."""
    usual = warmup_calls(scenario, system, calls, [(p.name, options) for p, options in policies])
    if scenario.simulation.warmup != "mser":
        return usual
    return mser_calls(system, policies, usual + calls, workers)


def with_sharing(scenario: Scenario, mode: str) -> Scenario:
    """The scenario with its GPUs shared in another way.

    Raises
    ------
    ScenarioError
        When there is no such way.
    """
    return with_value(scenario, "serverless.sharing.mode", mode)
