"""A serverless scenario simulated: warm-up, policies, summaries, the oracle."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nona.cluster.hardware.mig import board
from nona.cluster.sharing.pool import Invoker
from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.checks import Check, passed_and_failed
from nona.core.chrome_trace import trace_text
from nona.core.options import Options
from nona.core.output_files import write_job_table, write_text
from nona.core.statistics import level_with
from nona.queries.simulation.sizes import auto_warmup
from nona.queries.simulation.steady_state import mser
from nona.queries.sweeps.numbers import with_value
from nona.queries.workflows.exports import TRACE
from nona.scenario.arrivals import effective_rate
from nona.scenario.lookup import Sources
from nona.scenario.provenance import about_scenario
from nona.scenario.schema import Scenario
from nona.scenario.serverless import ServerlessSpec
from nona.serverless.chart_data import LayoutNode, Layouts, ServerlessOutcome
from nona.serverless.checks import checks_of
from nona.serverless.engine.options import PlatformRunOptions, ServerlessProgress
from nona.serverless.metrics import judge, slo_ratios, summarise
from nona.serverless.oracle import HOW
from nona.serverless.oracle import oracle as bound_of
from nona.serverless.policies.base import ConfigurationPolicy
from nona.serverless.policies.registry import get_policy
from nona.serverless.records import ServerlessRecords
from nona.serverless.replications import run_policies
from nona.serverless.report.findings import keeps_most
from nona.serverless.report.layouts import layout_rows
from nona.serverless.results import Oracle, RunSetting, ServerlessPolicyResult, ServerlessReport
from nona.serverless.system import ServerlessSystem, least_nodes
from nona.serverless.workflows.preparation import prepare_serverless

COLD_STARTS = 3.0  # longest cold starts that pass before calls are measured
LOOKS = 30.0  # looks at the number of standing instances that pass before calls are measured
MOST = 20_000  # calls that a warm-up without a stated length has at most
PILOTS = 3
LONGEST = 20.0  # SLOs that a call which was not complete counts for in a pilot


CALLS_CSV, CALLS_PARQUET = "calls.csv", "calls.parquet"


def calls_per_s(system: ServerlessSystem) -> float:
    """Call a second of all applications together."""
    if system.interval is not None:
        return system.interval.rate
    return sum(effective_rate(app.arrivals, app.rate) for app in system.applications)


def warmup_calls(
    scenario: Scenario,
    system: ServerlessSystem,
    calls: int,
    policies: Sequence[tuple[str, Options]] = (),
) -> int:
    """Call before the measured ones: the scenario's number, else enough for the start to be over.

    Formula: a, the usual share of ``calls`` (:func:`~nona.queries.simulation.sizes.auto_warmup`), and where
    the first calls may lack containers max(a, min(20 000, ⌈3 · c · r⌉)), with c the longest cold start of a
    function in seconds and r the calls per second. Containers that the first calls lack are there after c;
    then the calls that waited are served. That 3 c are enough is measured: MSER-5 cuts pilots that start with
    one container of each function after 2.0 to 3.4 c (``tests/serverless/test_serverless_inputs.py``).
    Where instances of one of the ``policies`` (name, options) stand: at least min(20 000, ⌈30 · s · r⌉),
    with s the seconds between two looks at their number: they begin with none, and what waited in the
    meantime is served by and by. MSER-5 cuts pilots of the shipped settings after 6 to 10 s, and where
    FaST-GShare's instances are busy for 90 % of their time the queues of the start last for 25 s.
    """
    warmup = scenario.simulation.warmup
    if isinstance(warmup, int):
        return warmup
    looks_s = max((_scale_s(name, options) for name, options in policies), default=0.0)
    usual = max(auto_warmup(calls), min(MOST, math.ceil(LOOKS * looks_s * calls_per_s(system))))
    if not may_start_cold(system):
        return usual
    cold_s = max((f.cold_start_s for f in system.functions), default=0.0)
    return max(usual, min(MOST, math.ceil(COLD_STARTS * cold_s * calls_per_s(system))))


def _scale_s(name: str, options: Options) -> float:
    """Seconds between two looks of a policy at its instances; 0 where none stand."""
    given = {**get_policy(name).defaults, **options}
    scale_s = given.get("scale_s")
    return float(scale_s) if given.get("standing") is True and isinstance(scale_s, int | float) else 0.0


def may_start_cold(system: ServerlessSystem) -> bool:
    """Return whether a node may run more batches at once than it starts with containers of a function.

    Every batch holds at least the vCPUs and vGPUs of the smallest configuration. Where memory does not hold
    all containers of the start, some function has fewer.
    """
    memory, warm = system.memory, system.containers.warm
    if memory is not None and warm * sum(memory.container_bytes) > min(memory.node_bytes):
        return True
    space, sharing = system.space, system.sharing
    times = sharing.oversubscription if SHARING_MODES.find(sharing.mode).oversubscribes else 1.0
    at_once = [
        min(n.vcpus // int(space.vcpus.min()), int(times * n.gpus * n.vgpus) // int(space.vgpus.min()))
        for n in system.invokers
    ]
    return system.containers.warm < max(at_once)


def mser_calls(
    system: ServerlessSystem,
    policies: Sequence[tuple[ConfigurationPolicy, Options]],
    calls: int,
    workers: int = 1,
) -> int:
    """Return the warm-up that pilot runs show: the latest cut of MSER-5 of all policies with a steady state.

    The series is latency over SLO of every call in order of arrival, at most 20, averaged over the pilots.
    A pilot that is too short to tell counts with its whole length.
    """
    records = run_policies(system, policies, PlatformRunOptions(calls=calls, warmup=0), PILOTS, workers)
    cuts = []
    for runs in records.values():
        if any(judge(system, r)[0] == "overloaded" for r in runs):
            continue
        series = [np.fmin(np.nan_to_num(slo_ratios(system, r), nan=LONGEST), LONGEST) for r in runs]
        cut = mser(np.mean(series, axis=0))
        cuts.append(calls if cut.too_short else cut.jobs)
    return max(cuts, default=0)


_NO_SOURCES = Sources()
CURVE = 20
OnProgress = Callable[[ServerlessProgress], None]


@dataclass(frozen=True, eq=False)
class ServerlessResult:
    """The result: per policy a summary over its replications and the records of each.

    ``setting`` says what was run.
    """

    system: ServerlessSystem
    summaries: Mapping[str, ServerlessPolicyResult]
    records: Mapping[str, tuple[ServerlessRecords, ...]]
    oracle: Oracle | None
    checks: Mapping[str, tuple[Check, ...]]
    seconds: float
    setting: RunSetting


def simulate_serverless_scenario(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    *,
    system: ServerlessSystem | None = None,
    policies: Sequence[str] = (),
    calls: int | None = None,
    replications: int | None = None,
    workers: int = 1,
    snapshot_s: float | None = None,
    oracle: bool = True,
    on_progress: OnProgress | None = None,
) -> ServerlessResult:
    """Run every policy in every replication; equal random numbers for all policies.

    Parameters
    ----------
    scenario : Scenario
        A scenario with the part ``serverless``.
    sources : Sources, optional
        Where its files are; by default the shipped samples only.
    system : ServerlessSystem, optional
        The prepared scenario, if there is one already.
    policies : sequence of str, optional
        By default the scenario's policies. Options are those of the scenario's entry of that name.
    calls, replications : int, optional
        By default ``simulation.jobs`` and ``simulation.replications``.
    workers : int, default 1
        Processes; results do not depend on their number.
    snapshot_s : float, optional
        As in :class:`~nona.serverless.engine.options.PlatformRunOptions`.
    oracle : bool, default True
        Compute the oracle's bound too.
    on_progress : callable, optional
        Gets each :class:`ServerlessProgress`; it may raise ``Cancelled``.

    Returns
    -------
    ServerlessResult
        Summary and records of each policy.

    Raises
    ------
    NonaError
        If the scenario is not serverless, or a policy or option is not known.
    """
    begin = time.perf_counter()
    system = prepare_serverless(scenario, sources) if system is None else system
    chosen = chosen_policies(scenario, policies)
    measured = scenario.simulation.jobs if calls is None else calls
    run = PlatformRunOptions(
        calls=measured,
        warmup=_warmup(scenario, system, chosen, measured, workers),
        snapshot_s=snapshot_s,
    )
    count = scenario.simulation.replications if replications is None else replications
    records = run_policies(system, chosen, run, count, workers, on_progress)
    return ServerlessResult(
        system=system,
        summaries={name: summarise(system, runs) for name, runs in records.items()},
        records=records,
        oracle=oracle_outcome(system, run, count) if oracle else None,
        checks={name: checks_of(system, runs) for name, runs in records.items()},
        seconds=time.perf_counter() - begin,
        setting=_setting(scenario, system, run, count, chosen),
    )


def _setting(
    scenario: Scenario,
    system: ServerlessSystem,
    run: PlatformRunOptions,
    replications: int,
    policies: Sequence[tuple[ConfigurationPolicy, Options]],
) -> RunSetting:
    nodes, least = len(system.invokers), least_nodes(system)
    return RunSetting(
        name=scenario.name,
        calls=run.calls,
        warmup=run.first,
        replications=replications,
        seed=scenario.seed,
        sharing=system.sharing.mode,
        nodes=nodes,
        least_nodes=least if least > nodes else None,
        configurations=len(system.space),
        options={p.name: {**p.defaults, **options} for p, options in policies},
        notes=tuple(system.notes),
    )


def report_of(result: ServerlessResult) -> ServerlessReport:
    """Return the report on a result."""
    checks, failed = passed_and_failed(result.checks)
    best = keeps_most(result.summaries)
    hits = {
        name: list(summary.runs["slo_hit_rate"])
        for name, summary in result.summaries.items()
        if summary.state != "overloaded"
    }
    return ServerlessReport.from_fields(
        result,
        policies=result.summaries,
        checks=checks,
        failed_checks=failed,
        level=level_with(best, hits) if best else (),
    )


def oracle_outcome(
    system: ServerlessSystem, run: PlatformRunOptions | None = None, replications: int = 1
) -> Oracle:
    """Return the least that the calls of ``run`` can cost; without it calls at large."""
    bound = bound_of(system, run, replications)
    shares = [bound.most_hits * k / CURVE for k in range(CURVE + 1)]
    return Oracle(
        cost_per_call_usd=bound.cost_per_call_usd(1.0),
        cost_per_hit_usd=bound.cost_per_hit_usd,
        most_hits=bound.most_hits,
        curve=tuple((share, bound.cost_per_call_usd(share)) for share in shares),
        how=HOW,
    )


def chosen_policies(
    scenario: Scenario, names: Sequence[str] = ()
) -> list[tuple[ConfigurationPolicy, Options]]:
    """Return the policies called ``names`` (none: the scenario's), each with its options there."""
    spec = scenario.serverless or ServerlessSpec()
    own = {entry.name: entry.options for entry in spec.policies}
    return [(get_policy(name), own.get(name, {})) for name in dict.fromkeys(names or own)]


def _warmup(
    scenario: Scenario,
    system: ServerlessSystem,
    policies: Sequence[tuple[ConfigurationPolicy, Options]],
    calls: int,
    workers: int,
) -> int:
    """Return the calls before the window: the scenario's, the pilots', or enough for cold starts to end."""
    usual = warmup_calls(scenario, system, calls, [(p.name, options) for p, options in policies])
    if scenario.simulation.warmup != "mser":
        return usual
    return mser_calls(system, policies, usual + calls, workers)


def with_sharing(scenario: Scenario, mode: str) -> Scenario:
    """Return the scenario with its GPUs shared in another way.

    Raises ``ScenarioError`` when there is no such way.
    """
    return with_value(scenario, "serverless.sharing.mode", mode)


def serverless_outcome(scenario: Scenario, result: ServerlessResult, date: str) -> ServerlessOutcome:
    """Return a run's report with the data of its charts.

    Parameters
    ----------
    scenario : Scenario
        The scenario that was simulated.
    result : ServerlessResult
        The result of :func:`simulate_serverless_scenario`.
    date : str
        The date, as text.

    Returns
    -------
    ServerlessOutcome
        The report, GPU layouts over time, and the provenance with the calls and replications of the run.
    """
    first = {name: runs[0] for name, runs in result.records.items()}
    system, setting = result.system, result.setting
    about = about_scenario(scenario, scenario, date)
    size = {"jobs": setting.calls, "replications": setting.replications}
    return ServerlessOutcome(
        about=about.model_copy(update=size),
        report=report_of(result),
        layouts=Layouts(
            mode=system.sharing.mode,
            applications=tuple(a.name for a in system.applications),
            nodes=tuple(_node(n) for n in system.invokers),
            rows={name: layout_rows(run, system) for name, run in first.items()},
        ),
    )


def _node(node: Invoker) -> LayoutNode:
    memory = board(node.board).memory_slices if node.board else node.vgpus
    return LayoutNode.from_fields(node, memory=memory)


def write_serverless(folder: Path, result: ServerlessResult) -> None:
    """Call tables and trace of a serverless run in ``folder``, under the names above."""
    from nona.serverless.report.exports import call_table

    table = call_table(result.records, result.system)
    for name in (CALLS_CSV, CALLS_PARQUET):
        write_job_table(folder / name, table)
    write_serverless_trace(folder / TRACE, result)


def write_serverless_trace(path: Path, result: ServerlessResult) -> None:
    """Return the batches of the first calls of every policy in Chrome's trace-event format.

    Raises ``ReportError`` when the file cannot be written.
    """
    from nona.serverless.report.exports import serverless_trace

    trace = serverless_trace(result.records, result.system, result.setting.name)
    write_text(path, trace_text(trace))
