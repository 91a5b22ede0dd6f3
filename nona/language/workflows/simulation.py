"""Simulations of language engines: replications under each router, summary, checks, what charts need."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nona.core.arrays import Bools, Floats, Ints
from nona.core.checks import Check, passed_and_failed
from nona.core.document import Percentile, number
from nona.core.experiments import do_nothing
from nona.core.statistics import (
    level_with,
    mean_interval,
    percentile,
    percentile_interval,
    percentile_of,
    run_mean,
    too_few_jobs,
)
from nona.core.verdict import share_within
from nona.language.draws import draw_requests, replays_once
from nona.language.formula import predict
from nona.language.gpu import requests_that_fit
from nona.language.records import REFUSED, MeasuredWindow, Requests, RouterReplication, gap_percentile
from nona.language.report.tables import best_router
from nona.language.results import (
    EnginePrediction,
    EngineResult,
    KvTokens,
    LanguageReport,
    LongestGaps,
    RequestResult,
    RequestTargets,
    RouterResult,
    StepsOff,
    TokenTimes,
)
from nona.language.run import simulate_once
from nona.language.system import BLOCK_TOKENS, Engine, LanguageSystem, RequestClass
from nona.language.workflows.engines import PreparedLanguage
from nona.language.workflows.following import CoupledQueries
from nona.queries.results import JobCounts, State
from nona.queries.simulation.sizes import auto_warmup
from nona.queries.simulation.steady_state import MATERIAL, SIGNIFICANT, growth_of, part_run
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario, SimulationSpec

RequestTime = Literal["ttft_s", "tpot_s", "e2e_s"]
TAIL = 0.25  # requests that follow the measured ones, so that these do not run out alone
MARKS = 21
OnProgress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class LanguageResult:
    """Router → its runs, in order of replication, and the seconds that all took."""

    runs: Mapping[str, tuple[RouterReplication, ...]]
    report: LanguageReport


def simulate_language(
    prepared: PreparedLanguage,
    routers: Sequence[str] = (),
    steps: int = 0,
    on_progress: OnProgress = do_nothing,
    queries: Callable[[Scenario, Sources], CoupledQueries] = CoupledQueries.prepare,
) -> LanguageResult:
    """Simulate routers of language engines on the same requests.

    Parameters
    ----------
    prepared : PreparedLanguage
        The scenario with its engines.
    routers : sequence of str, optional
        By default the scenario's routers.
    steps : int, default 0
        The number of first steps of each engine to keep.
    on_progress : callable, optional
        Gets the router and the share of the work done (0 to 1); an exception that it raises ends the work.
    queries : callable, optional
        Prepares the queries that requests follow; they run under the scenario's first scheduler.

    Returns
    -------
    LanguageResult
        The report, and the runs of each router.

    Raises
    ------
    NonaError
        If the scenario's queries cannot be prepared, or a router is not known.
    """
    begin = time.perf_counter()
    names = list(routers) or [entry.name for entry in prepared.scenario.routers]
    follows = any(row.after is not None for row in prepared.system.rows)
    shares = bool(prepared.scenario.workload) and any(
        engine.role != "both" for engine in prepared.system.engines
    )
    following = queries(prepared.scenario, prepared.sources) if follows or shares else None
    if shares and following is not None:
        prepared = prepared.with_query_messages(
            following.messages(prepared.system.network.topology), following.scheduler
        )
    runs, ends = _replications(prepared, names, following, steps, on_progress)
    measured = {name: [_measured(prepared.system, run) for run in of] for name, of in runs.items()}
    results = {name: _summary(prepared.system, of, measured[name]) for name, of in runs.items()}
    if prepared.error:
        for name, result in results.items():
            own = _summary(prepared.system, runs[name][:1], measured[name][:1])
            results[name] = _with_range(result, own, ends[name], prepared.error)
    passed, failed = passed_and_failed({name: _checks(prepared.system, of) for name, of in runs.items()})
    facts = dict.fromkeys(line for of in prepared.facts for line in of.warnings)
    report = LanguageReport(
        engine="compiled",
        seconds=time.perf_counter() - begin,
        schedulers=results,
        queries=following.scheduler if following else None,
        level=_level(measured, best_router(results)),
        checks=passed,
        failed_checks=failed,
        warnings=(*prepared.warnings, *facts),
    )
    return LanguageResult({name: tuple(of) for name, of in runs.items()}, report)


def _replications(
    prepared: PreparedLanguage,
    names: Sequence[str],
    following: CoupledQueries | None,
    steps: int,
    on_progress: OnProgress,
) -> tuple[dict[str, list[RouterReplication]], dict[str, list[RouterResult]]]:
    """Return the runs of each router, and its first with step times at either end of their error."""
    system, spec = prepared.system, prepared.scenario.simulation
    replications = 1 if all(replays_once(row) for row in system.rows) else spec.replications
    off = [(side, prepared.with_steps_off(side).system) for side in (-1, 1) if prepared.error]
    runs: dict[str, list[RouterReplication]] = {name: [] for name in names}
    ends: dict[str, list[RouterResult]] = {name: [] for name in names}
    for replication in range(replications):
        begun = replication / replications

        def tell_queries(part: float, begun: float = begun) -> None:
            on_progress("the queries before", begun)

        requests, window = drawn(system, spec, replication, steps, following, tell_queries)
        systems = [(0, system), *(off if replication == 0 else [])]
        turns = [(name, side, of) for name in names for side, of in systems]
        share = 1 / (replications * len(turns))
        for turn, (name, side, of) in enumerate(turns):

            def on_simulated(
                part: float, name: str = name, done: float = begun + turn * share, share: float = share
            ) -> None:
                on_progress(name, done + part * share)

            on_simulated(0.0)
            run = simulate_once(of, requests, name, window, on_simulated)
            if side:
                ends[name].append(_summary(of, [run], [_measured(of, run)]))
            else:
                runs[name].append(run)
    on_progress(names[-1], 1.0)
    return runs, ends


def _with_range(
    result: RouterResult, own: RouterResult, ends: Sequence[RouterResult], error: float
) -> RouterResult:
    """Add to each row what it would be with step times at either end of their error.

    ``own`` and ``ends`` are of the same requests, so that their ratio carries over to all replications.
    """

    def range_of(row: str, time: RequestTime) -> tuple[float | None, float | None]:
        mean, base = (getattr(of.models[row], time).mean for of in (result, own))
        low, high = (
            mean * getattr(end.models[row], time).mean / base if base and end.state != "overloaded" else None
            for end in ends
        )
        return low, high

    def shares_of(row: str) -> tuple[float | None, float | None]:
        mean, base = result.models[row].goodput, own.models[row].goodput
        shares = [end.models[row].goodput for end in ends]
        low, high = (
            None if mean is None or base is None or share is None else min(max(mean + share - base, 0.0), 1.0)
            for share in shares
        )
        return low, high

    rows = {}
    for name, row in result.models.items():
        off = StepsOff(
            error=error,
            ttft_s=range_of(name, "ttft_s"),
            tpot_s=range_of(name, "tpot_s"),
            e2e_s=range_of(name, "e2e_s"),
            goodput=shares_of(name),
        )
        rows[name] = row.model_copy(update={"off": off})
    return result.model_copy(update={"models": rows})


def drawn(
    system: LanguageSystem,
    spec: SimulationSpec,
    replication: int,
    steps: int = 0,
    following: CoupledQueries | None = None,
    tell_queries: Callable[[float], None] = do_nothing,
) -> tuple[Requests, MeasuredWindow]:
    """Draw the requests of a replication, and say which of them are measured.

    Where every row is a trace that is replayed once these are all of them, unless the scenario says how many.
    ``following`` says when requests come that follow queries.
    """
    if all(replays_once(row) for row in system.rows):
        count = sum(len(row.arrivals.times_s) for row in system.rows)
        first = min(spec.warmup, count - 1) if isinstance(spec.warmup, int) else 0
        jobs = spec.jobs if "jobs" in spec.model_fields_set else count
    else:
        first = spec.warmup if isinstance(spec.warmup, int) else auto_warmup(spec.jobs)
        jobs = spec.jobs
        count = first + jobs + math.ceil(TAIL * jobs) + 100
    sent = {} if following is None else following.requests(system, count, replication, tell_queries)
    requests = draw_requests(system, count, replication, sent)
    return requests, MeasuredWindow(min(jobs, len(requests) - first), first, replication, steps)


@dataclass(frozen=True, eq=False)
class _Measured:
    """The measured requests of one run, or those of one of its rows: times in seconds, targets met."""

    ttft_s: Floats
    tpot_s: Floats
    e2e_s: Floats
    met: Bools
    ratios: Floats
    numbers: Ints


def _measured(system: LanguageSystem, run: RouterReplication, row: int | None = None) -> _Measured:
    numbers = run.measured
    if row is not None:
        numbers = numbers[run.requests.row[numbers] == row]
    _, ttft_s, tpot_s, e2e_s = run.request_times(numbers)
    limits = np.array([_limits(r) for r in system.rows])[run.requests.row[numbers]]
    ratios = np.fmax(ttft_s / limits[:, 0], np.fmax(tpot_s / limits[:, 1], e2e_s / limits[:, 2]))
    ratios = np.where(np.isnan(e2e_s), math.inf, ratios)
    return _Measured(ttft_s, tpot_s, e2e_s, ratios <= 1, ratios, numbers)


def over_targets(
    system: LanguageSystem,
    run: RouterReplication,
    row: int,
    time: RequestTime | None = None,
    bound_s: float = 1.0,
) -> Floats:
    """Return how far each measured request of a row is over the target that it misses most.

    That is a time over its target: at most 1 where all are met, ``inf`` where it is incomplete or refused.
    With a ``time`` that one alone counts, over ``bound_s``; a request of one token has no time per token.
    """
    measured = _measured(system, run, row)
    if time is None:
        return measured.ratios
    over: Floats = getattr(measured, time) / bound_s
    return np.where(np.isnan(measured.e2e_s), math.inf, np.nan_to_num(over, nan=0.0))


def _limits(row: RequestClass) -> tuple[float, float, float]:
    of = row.targets
    return (of.ttft_s or math.inf, of.tpot_s or math.inf, of.e2e_s or math.inf)


def _summary(
    system: LanguageSystem, runs: Sequence[RouterReplication], whole: Sequence[_Measured]
) -> RouterResult:
    state, reason = _state(system, runs)
    goodput = share_within([m.ratios for m in whole])
    loads: dict[str, float] = {}
    busiest: dict[str, EnginePrediction] = {}
    for k, engine in enumerate(system.engines):
        of = predict(system, k)
        if of is not None and of.load > loads.get(engine.model, -1.0):
            loads[engine.model] = of.load
            busiest[engine.model] = EnginePrediction.from_fields(of)
    return RouterResult(
        models={row.name: _row(system, runs, k) for k, row in enumerate(system.rows)},
        engines={engine.name: _engine(system, runs, k) for k, engine in enumerate(system.engines)},
        goodput=goodput,
        ttft_s=_times([m.ttft_s for m in whole], runs, system),
        e2e_s=_times([m.e2e_s for m in whole], runs, system),
        jobs=_counts(whole, runs),
        preemptions=_preemptions(runs, whole),
        tokens_per_s=_mean([r.sums.made.sum() / _span(r) for r in runs]),
        state=state,
        state_reason=reason,
        replications=len(runs),
        predicted=busiest,
        runs={
            "goodput": tuple(m.met.mean() for m in whole),
            "ttft_s": tuple(run_mean(m.ttft_s) for m in whole),
            "e2e_s": tuple(run_mean(m.e2e_s) for m in whole),
        },
    )


def _preemptions(runs: Sequence[RouterReplication], of: Sequence[_Measured]) -> float:
    """Of a run, on average."""
    return _mean([float(r.times.preemptions[m.numbers].sum()) for r, m in zip(runs, of, strict=True)])


def _level(measured: Mapping[str, Sequence[_Measured]], best: str) -> tuple[str, ...]:
    """Return the routers that differ clearly from the best neither in goodput nor in first tokens."""
    goodputs = {name: [m.met.mean() for m in own] for name, own in measured.items()}
    first_s = {name: [run_mean(m.ttft_s) for m in own] for name, own in measured.items()}
    level = level_with(best, first_s)
    return tuple(name for name in level_with(best, goodputs) if name in level)


def _row(system: LanguageSystem, runs: Sequence[RouterReplication], row: int) -> RequestResult:
    spec, of = system.rows[row], [_measured(system, run, row) for run in runs]
    goodput = share_within([m.ratios for m in of])
    complete = sum(int(np.isfinite(m.e2e_s).sum()) for m in of)
    sent = [run.times.sent_s[m.numbers] for run, m in zip(runs, of, strict=True)]
    before = [run.requests.before_s[m.numbers] for run, m in zip(runs, of, strict=True)]
    apart = any(engine.role != "both" for engine in system.engines if engine.model == spec.model)
    targets = spec.targets
    limited = targets.any
    return RequestResult(
        ttft_s=_times([m.ttft_s for m in of], runs, system),
        tpot_s=_times([m.tpot_s for m in of], runs, system),
        itl_s=_gaps(runs, row),
        max_gap_s=_longest_gaps(system, runs, of),
        e2e_s=_times([m.e2e_s for m in of], runs, system),
        targets=RequestTargets.from_fields(targets),
        loop="closed" if spec.concurrency else "open",
        goodput=goodput.mean if limited else None,
        goodput_ci95=goodput.ci95 if limited else None,
        slo_hit_rate=sum(int(m.met.sum()) for m in of) / complete if complete and limited else None,
        preemptions=_preemptions(runs, of),
        refused=sum(int((r.times.engine[m.numbers] == REFUSED).sum()) for r, m in zip(runs, of, strict=True)),
        jobs=_counts(of, runs),
        tokens_per_s=_mean([r.sums.made[:, row].sum() / _span(r) for r in runs]),
        kv_tokens=KvTokens(
            mean=_mean([r.sums.kv_area[_serving(system, spec), row].mean() / _span(r) for r in runs]),
            most=max(int(r.sums.kv_most[:, row].max()) for r in runs),
        ),
        sent_s=_mean([s.mean() for s in sent if len(s)]) if apart else None,
        before_s=None if spec.after is None else _mean([b.mean() for b in before if len(b)]),
    )


def _serving(system: LanguageSystem, row: RequestClass) -> list[int]:
    return [k for k, engine in enumerate(system.engines) if engine.model == row.model]


def _engine(system: LanguageSystem, runs: Sequence[RouterReplication], number_of: int) -> EngineResult:
    engine, e = system.engines[number_of], number_of
    steps = max(1, sum(int(r.sums.steps[e]) for r in runs))
    return EngineResult.from_fields(
        engine,
        busy=_mean([r.sums.busy_s[e] / _span(r) for r in runs]),
        running=_mean([r.sums.running_area[e] / _span(r) for r in runs]),
        waiting=_mean([r.sums.waiting_area[e] / _span(r) for r in runs]),
        decodes_per_step=sum(int(r.sums.decoded[e]) for r in runs) / steps,
        prefill_per_step=sum(int(r.sums.prefill[e]) for r in runs) / steps,
        kv_share=_mean([r.sums.kv_area[e].sum() / _span(r) / engine.kv_tokens for r in runs]),
        kv_most=max(int(r.sums.kv_peak[e]) for r in runs) / engine.kv_tokens,
        prefix_hits=_hits(runs, e) if engine.shares_prefixes and _prefixed(system, engine) else None,
        fits=_fits(system, engine),
    )


def _fits(system: LanguageSystem, engine: Engine) -> int | None:
    tokens = [row.lengths.tokens.sum(axis=1) for row in system.rows if row.model == engine.model]
    return requests_that_fit(engine.blocks, round(float(np.concatenate(tokens).mean()))) if tokens else None


def _prefixed(system: LanguageSystem, engine: Engine) -> bool:
    rows = (row for row in system.rows if row.model == engine.model)
    return any(row.lengths.prefix is not None for row in rows)


def _hits(runs: Sequence[RouterReplication], e: int) -> float:
    hits = sum(int(r.sums.hits[e]) for r in runs)
    return hits / max(1, hits + sum(int(r.sums.prefill[e]) for r in runs))


def _span(run: RouterReplication) -> float:
    return max(run.over_s - run.begin_s, 1e-12)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _counts(of: Sequence[_Measured], runs: Sequence[RouterReplication]) -> JobCounts:
    arrived = sum(len(m.numbers) for m in of)
    complete = sum(int(np.isfinite(m.e2e_s).sum()) for m in of)
    refused = sum(int((r.times.engine[m.numbers] == REFUSED).sum()) for r, m in zip(runs, of, strict=True))
    return JobCounts(arrived=arrived, completed=complete, in_flight=arrived - complete - refused)


def _times(values: Sequence[Floats], runs: Sequence[RouterReplication], system: LanguageSystem) -> TokenTimes:
    """Mean and percentiles; those of traces that are replayed once are exact, so none is withheld."""
    mean = mean_interval([v[~np.isnan(v)].mean() if (~np.isnan(v)).any() else math.nan for v in values])
    exact = all(replays_once(row) for row in system.rows)
    of = {p: _exactly(values[0], p) if exact else percentile_interval(values, p) for p in (50, 95, 99)}
    return _token_times(mean.mean, mean.ends, of)


def _longest_gaps(
    system: LanguageSystem, runs: Sequence[RouterReplication], of: Sequence[_Measured]
) -> LongestGaps:
    longest = [run.max_gaps(m.numbers) for run, m in zip(runs, of, strict=True)]
    known = [float(np.nanmax(gaps)) for gaps in longest if not np.isnan(gaps).all()]
    return LongestGaps.from_fields(_times(longest, runs, system), most=max(known) if known else None)


def _exactly(values: Floats, percent: float) -> Percentile:
    why = "each request of the trace comes once: nothing is drawn"
    return Percentile(
        value_s=number(percentile(values, percent)), ci95=None, withheld=None, interval_withheld=why
    )


def _gaps(runs: Sequence[RouterReplication], row: int) -> TokenTimes:
    counts = [run.sums.gaps[:, row].sum(axis=0) for run in runs]
    means = [
        run.sums.gap_s[:, row].sum() / total if (total := int(c.sum())) else math.nan
        for run, c in zip(runs, counts, strict=True)
    ]
    totals = [int(c.sum()) for c in counts]
    of = {
        p: percentile_of([gap_percentile(c, p / 100) for c in counts], too_few_jobs(totals, p))
        for p in (50, 95, 99)
    }
    mean = mean_interval(means)
    return _token_times(mean.mean, mean.ends, of)


def _token_times(mean: float, ends: tuple[float, float] | None, of: Mapping[int, Percentile]) -> TokenTimes:
    return TokenTimes(
        mean=mean,
        ci95=ends,
        p50=of[50].value_s,
        p95=of[95].value_s,
        p99=of[99].value_s,
        percentiles={f"p{p}": value for p, value in of.items()},
    )


def _state(system: LanguageSystem, runs: Sequence[RouterReplication]) -> tuple[State, str]:
    """Return the state of the worst run, and the reason where it is not stable."""
    if all(row.concurrency for row in system.rows):
        return "stable", ""
    worst: tuple[State, str] = ("stable", "")
    for run in runs:
        numbers, times = run.measured, run.times
        marks = np.quantile(times.arrival_s[numbers], np.linspace(0, 1, MARKS))
        there = np.isfinite(times.arrival_s)
        ends = np.where(np.isnan(times.end_s) & (times.engine >= 0), math.inf, times.end_s)
        open_at = [int((there & (times.arrival_s <= t) & (ends > t)).sum()) for t in marks.tolist()]
        left, score = growth_of(np.array(open_at), len(numbers))
        length_s = float(marks[-1] - marks[0])
        part = part_run([(r.arrivals, r.rate) for r in system.rows], length_s, "requests")
        if left > MATERIAL and score > SIGNIFICANT and part:
            worst = "backlogged", f"{open_at[-1]} requests were in the system at the end: {part}."
        elif left > MATERIAL and score > SIGNIFICANT:
            return "overloaded", (
                f"The number of requests in the system kept growing, by {left:.3g} per arrival. The engines "
                "or their caches are too small; add engines, or lower the rates."
            )
        elif open_at[-1] > np.median(open_at) + max(0.01 * len(numbers), 4 * (1 + np.median(open_at)) ** 0.5):
            worst = (
                "backlogged",
                f"{open_at[-1]} requests were in the system at the end of the window, usually "
                f"{np.median(open_at):.0f}; "
                f"{part or 'measure more, as the means depend on where this window ends'}.",
            )
    return worst


def _checks(system: LanguageSystem, runs: Sequence[RouterReplication]) -> list[Check]:
    budgets = np.array([max(e.budget, e.sequences) for e in system.engines])
    blocks = np.array([e.kv_tokens for e in system.engines])
    caches = steps = order = True
    apart = 0.0
    for run in runs:
        sums, of = run.sums, _measured(system, run)
        caches &= bool((sums.kv_peak <= blocks).all())
        chunked = np.array([e.chunked for e in system.engines])
        steps &= bool(((sums.prefill + sums.decoded <= sums.steps * budgets) | ~chunked).all())
        done = np.isfinite(of.e2e_s)
        order &= bool((of.ttft_s[done] > 0).all() and (of.e2e_s[done] >= of.ttft_s[done] - 1e-12).all())
        if run.window.first == 0 and len(of.numbers) == len(run.requests):
            elsewhere_s = run.times.sent_s + run.requests.before_s
            area = float(of.e2e_s[done].sum() - elsewhere_s[of.numbers][done].sum())
            seen = float(sums.running_area.sum() + sums.waiting_area.sum())
            apart = max(apart, seen / area - 1 if area else 0.0)
    return [
        Check("KV never exceeds the cache", caches, f"up to {BLOCK_TOKENS} tokens a block"),
        Check("no step exceeds the budget", steps, "prompt tokens and decodes of all steps"),
        Check("first tokens follow arrivals, last ones first ones", order, "of measured requests"),
        Check("Little's law for requests", apart < 1e-6, f"{apart:.2g} of the times too much at engines"),
    ]
