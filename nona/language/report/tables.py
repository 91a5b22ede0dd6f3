"""Simulated language engines in tables, sentences and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nona.cluster.prices import breaks_after
from nona.core.chrome_trace import ChromeTrace, Clock, TraceEvent, process_names, thread_name, trace_of
from nona.core.document import UNKNOWN, Estimate
from nona.core.tables import (
    COUNT,
    KEPT,
    MONEY,
    NUMBER,
    PLAIN,
    SHARE,
    TIME,
    Column,
    FilledTable,
    Table,
    kept_text,
    mean_text,
    money,
    share_text,
    times_text,
)
from nona.core.text import Finding, count_text, join_words, not_clear
from nona.core.units import duration, format_number, format_time
from nona.language.records import RouterReplication
from nona.language.results import (
    EngineResult,
    EngineStep,
    LanguageOption,
    LanguagePlan,
    LanguageReport,
    LanguageRun,
    LongestPause,
    RequestResult,
    RouterResult,
    SizeCurve,
    TokenTimes,
)

if TYPE_CHECKING:
    import pandas as pd

MEASURES: Mapping[str, str] = {
    "ttft_s": "first token",
    "tpot_s": "per further token",
    "itl_s": "between tokens",
    "max_gap_s": "longest pause",
    "e2e_s": "last token",
}
HELP: Mapping[str, str] = {
    "ttft_s": "From the arrival of a request to its first token (TTFT).",
    "tpot_s": "Mean time of a further token of a request (TPOT); those with one token have none.",
    "itl_s": "Gaps between two tokens of a request, those of all requests together (ITL).",
    "max_gap_s": "The longest gap between two tokens of each request: answers wait while long prompts run.",
    "e2e_s": "From the arrival of a request to its last token (E2E).",
}


GOODPUT = "Share of the requests that arrived which met every target of their row."


@dataclass(frozen=True, slots=True)
class _Row:
    router: str
    whole: RouterResult
    model: str
    of: RequestResult


def _times(measure: str) -> Iterator[Column[_Row]]:
    def read(r: _Row) -> Estimate:
        times: TokenTimes | None = getattr(r.of, measure)
        return UNKNOWN if r.whole.state == "overloaded" or times is None else times

    def percentile_of(name: str) -> Callable[[_Row], Estimate]:
        def percentile(r: _Row) -> Estimate:
            times: TokenTimes | None = getattr(r.of, measure)
            return (
                UNKNOWN if r.whole.state == "overloaded" or times is None else times.percentiles[name].as_mean
            )

        return percentile

    short = measure.removesuffix("_s")
    title, decides = MEASURES[measure], measure in ("ttft_s", "tpot_s")
    yield Column(f"{title}, mean", read, TIME, short, interval=True, decides=decides, help=HELP[measure])
    for name in ("p50", "p95", "p99"):
        shown = decides and name == "p95"
        yield Column(
            f"{title}, {name}", percentile_of(name), TIME, f"{short}_{name}", interval=True, decides=shown
        )


REQUESTS = Table[_Row](
    "",
    (
        Column("router", lambda r: r.router, decides=True),
        Column("row", lambda r: r.model, decides=True),
        Column("state", lambda r: r.whole.state),
        Column(
            "goodput",
            lambda r: Estimate(mean=r.of.goodput, ci95=r.of.goodput_ci95),
            KEPT,
            interval=True,
            decides=True,
            help=GOODPUT,
        ),
        *(column for measure in MEASURES for column in _times(measure)),
        Column(
            "longest pause, most",
            lambda r: (
                None if r.of.max_gap_s is None or r.whole.state == "overloaded" else r.of.max_gap_s.most
            ),
            TIME,
            "max_gap_most",
            decides=True,
            help=HELP["max_gap_s"],
        ),
        Column("tokens/s", lambda r: r.of.tokens_per_s, PLAIN, "tokens_per_s", decides=True),
        Column("preemptions a run", lambda r: r.of.preemptions, PLAIN, "preemptions", decides=True),
        Column("refused", lambda r: r.of.refused or None, COUNT, optional=True, decides=True),
        Column("KV on its way", lambda r: r.of.sent_s, TIME, "sent", optional=True),
        Column(
            "tasks before",
            lambda r: r.of.before_s,
            TIME,
            "before",
            optional=True,
            decides=True,
            help="Mean time of the query that a request follows. The request's times count from the query's "
            "arrival.",
        ),
        Column("KV tokens, mean", lambda r: r.of.kv_tokens.mean, PLAIN, "kv_tokens"),
        Column("KV tokens, most", lambda r: r.of.kv_tokens.most, COUNT, "kv_tokens_most"),
        Column("arrivals", lambda r: r.of.loop, key="loop"),
        Column("requests", lambda r: r.of.jobs.arrived, COUNT),
    ),
)

AT_WORK = (
    "Share of time in which a step runs. One request keeps an engine busy, so this nears 100 % long before "
    "the engine is full. The load shows the remaining capacity."
)
ENGINES = Table[EngineResult](
    "engine",
    (
        Column("role", lambda e: e.role, decides=True, help="prefill: prompts; decode: answers."),
        Column("at work", lambda e: e.busy, SHARE, "busy", decides=True, help=AT_WORK),
        Column("running", lambda e: e.running, NUMBER, decides=True),
        Column("waiting", lambda e: e.waiting, NUMBER, decides=True),
        Column("decodes per step", lambda e: e.decodes_per_step, NUMBER, "decodes_per_step"),
        Column("prompt tokens per step", lambda e: e.prefill_per_step, NUMBER, "prefill_per_step"),
        Column("cache in use, mean", lambda e: e.kv_share, SHARE, "kv_share", decides=True),
        Column("cache in use, most", lambda e: e.kv_most, SHARE, "kv_most", decides=True),
        Column("from prefixes", lambda e: e.prefix_hits, SHARE, "prefix_hits", decides=True, optional=True),
        Column("blocks", lambda e: e.blocks, COUNT),
        Column(
            "requests that fit",
            lambda e: e.fits,
            COUNT,
            "fits",
            decides=True,
            optional=True,
            help="Of the mean length of its rows, prompt and answer, in its KV cache at a time.",
        ),
    ),
)


def requests_table(schedulers: Mapping[str, RouterResult]) -> FilledTable:
    """Every row of requests under every router."""
    return REQUESTS.fill(
        [_Row(name, of, model, row) for name, of in schedulers.items() for model, row in of.models.items()]
    )


def engines_table(of: RouterResult) -> FilledTable:
    """Every engine under one router."""
    return ENGINES.fill(of.engines)


def best_router(schedulers: Mapping[str, RouterResult]) -> str:
    """Return the router with the most goodput; among equals the one with the earliest first tokens."""
    stable = {n: r for n, r in schedulers.items() if r.state != "overloaded"} or dict(schedulers)

    def rank(name: str) -> tuple[float, float]:
        of = stable[name]
        return (-round(of.goodput.mean or 0.0, 3), of.ttft_s.mean or float("inf"))

    return min(stable, key=rank)


def language_finding(report: LanguageReport) -> Finding:
    """Which router serves best, and how well."""
    best = best_router(report.schedulers)
    of = report.schedulers[best]
    if of.state == "overloaded":
        return Finding(f"No router keeps up: {of.state_reason}", bad=True)
    head = f"{best}{not_clear(report.level)}: " if len(report.schedulers) > 1 else ""
    rates = {name: row.goodput for name, row in of.models.items() if row.goodput is not None}
    parts = []
    if rates:
        goodput = mean_text(of.goodput, kept_text)
        worst = min(rates, key=rates.__getitem__)
        fewest, all_rows = kept_text(rates[worst]), kept_text(of.goodput.mean or 0.0)
        parts.append(f"{goodput} of requests in time" + f" ({worst} {fewest})" * (fewest != all_rows))
    parts.append(f"first token after {mean_text(of.ttft_s, format_time)} on average")
    if of.preemptions:
        parts.append(f"{format_number(of.preemptions)} preemptions per run because the cache was full")
    lead = f"{head}{'; '.join(parts)}."
    lead = lead if head else lead[0].upper() + lead[1:]
    if not rates or of.goodput.mean is None:
        return Finding(lead)
    return Finding(lead, "", kept_text(of.goodput.mean), "Goodput", f"{GOODPUT} Under {best}.")


def pace_finding(report: LanguageReport) -> str:
    """Say of the first row under the best router when first tokens come, and how long gaps become."""
    name, row = next(iter(report.schedulers[best_router(report.schedulers)].models.items()))
    ttft_s, gap_s = row.ttft_s.mean, row.itl_s.p99
    if ttft_s is None or gap_s is None:
        return f"{name}: no request is complete."
    longest = None if row.max_gap_s is None else row.max_gap_s.most
    pause = "" if longest is None else f" The longest pause of an answer is {format_time(longest)}."
    return (
        f"{name}: the first token comes after {format_time(ttft_s)} on average; one of a hundred gaps "
        f"between tokens is longer than {format_time(gap_s)}.{pause}"
    )


def pause_text(pause: LongestPause, rows: Sequence[str]) -> str:
    """Say whose answer paused longest in the chart of steps, how long, and what its engine did meanwhile."""
    said = (
        f"The longest pause shown is {format_time(pause.end_s - pause.begin_s)}, of an answer of "
        f"{rows[pause.row]}"
    )
    if pause.prefill:
        steps = "the same step" if pause.steps == 1 else f"{pause.steps} steps"
        return f"{said}: {pause.prefill:,} tokens of prompts were computed in {steps}."
    if pause.preempted and pause.steps != 1:
        return f"{said}: the cache was full, and the request was put back."
    return f"{said}: a step of answers alone." if pause.steps == 1 else f"{said}."


def language_text(report: LanguageReport) -> str:
    """Tables and sentences for terminals."""
    table = requests_table(report.schedulers)
    lines = [language_finding(report).text, pace_finding(report), "", table.select(*table.deciding).text()]
    for name, of in report.schedulers.items():
        if of.state != "stable":
            lines.append(f"{name} is {of.state}: {of.state_reason}")
    best = best_router(report.schedulers)
    lines += ["", f"Engines under {best}:", engines_table(report.schedulers[best]).text()]
    lines += ["", *predicted_lines(report.schedulers[best]), *off_lines(report.schedulers[best])]
    lines += followed_lines(report)
    lines += [f"check failed: {line}" for line in report.failed_checks]
    return "\n".join(lines).rstrip()


def followed_lines(report: LanguageReport) -> list[str]:
    """Say for each row that follows queries how long these take, and under which scheduler."""
    rows = next(iter(report.schedulers.values())).models
    return [
        f"{name}: times count from the arrival of the query before, which takes "
        f"{format_time(row.before_s)} on average under {report.queries}, the first scheduler of the list."
        for name, row in rows.items()
        if row.before_s is not None
    ]


def off_lines(of: RouterResult) -> list[str]:
    """Say of each row what it would be with step times at either end of their error."""
    lines = []
    for name, row in of.models.items():
        if row.off is None:
            continue
        times = {"ttft_s": row.off.ttft_s, "tpot_s": row.off.tpot_s}
        spans = {
            MEASURES[time]: ["no steady state" if end is None else format_time(end) for end in ends]
            for time, ends in times.items()
        }
        if row.off.goodput[0] is not None and row.off.goodput[1] is not None:
            spans["goodput"] = [kept_text(share) for share in row.off.goodput if share is not None]
        parts = [f"{what} {' to '.join(ends)}" for what, ends in spans.items() if len(set(ends)) > 1]
        if parts:
            error = share_text(row.off.error)
            lines.append(f"{name}, if steps are {error} shorter or longer: {join_words(parts)}.")
    return lines


def predicted_lines(of: RouterResult) -> list[str]:
    """Return the formula's figures of each model, for beside the simulated ones."""
    lines = []
    for model, prediction in of.predicted.items():
        if prediction.tpot_s is None:
            load = share_text(prediction.load or 0.0)
            lines.append(
                f"{model}: with requests split evenly, as by round-robin, the busiest engine would get "
                f"{load} of what it can serve."
            )
        else:
            load, token, kv = (
                share_text(prediction.load or 0.0),
                format_time(prediction.tpot_s),
                prediction.kv_tokens or 0.0,
            )
            lines.append(
                f"{model}: load {load}. By formula a further token takes {token} and a cache holds {kv:,.0f} "
                "tokens, if neither cache nor budget is the limit."
            )
    return lines


SIZES = Table[SizeCurve](
    "",
    (
        Column("GPUs of an engine", lambda c: c.gpus, COUNT, "gpus"),
        Column("engines", lambda c: c.engines, COUNT),
        Column("per token at low rates", lambda c: c.tpot_s[0], TIME, "tpot"),
        Column("serves up to, requests/s", lambda c: c.rates[-1], NUMBER, "most"),
    ),
)

HOURS_A_MONTH = 730
OPTIONS = Table[LanguageOption](
    "",
    (
        Column("GPU", lambda o: o.gpu, decides=True),
        Column("GPUs of an engine", lambda o: o.tp, COUNT, "tp", decides=True),
        Column("engine", lambda o: o.settings or None, decides=True, optional=True),
        Column("router", lambda o: o.router, decides=True),
        Column("servers", lambda o: o.servers, COUNT, decides=True),
        Column(
            "for prompts",
            lambda o: o.prefill,
            COUNT,
            "prefill",
            decides=True,
            optional=True,
            help="Servers of the role prefill among them; the others decode.",
        ),
        Column("GPUs of a server", lambda o: o.gpus, COUNT, "gpus"),
        Column("engines of a server", lambda o: o.engines, COUNT, "engines"),
        Column("servers by load alone", lambda o: o.least, COUNT, "least"),
        Column("per hour", lambda o: o.price, MONEY, "price", decides=True),
        Column("per month", lambda o: o.price and o.price * HOURS_A_MONTH, MONEY, "price_month"),
        Column(
            "per million output tokens",
            lambda o: o.per_million,
            MONEY,
            "per_million",
            decides=True,
            help="Price of the servers over the output tokens that the rates ask for.",
        ),
        Column("verdict", lambda o: o.verdict, decides=True),
        Column("goodput", lambda o: o.share, KEPT, "share", decides=True, help=GOODPUT),
        Column("tightest row", lambda o: o.tightest),
        Column("step times", lambda o: o.provenance, key="provenance"),
        Column("note", lambda o: o.note or None, decides=True, optional=True, width=420),
    ),
)


def options_table(plan: LanguagePlan) -> FilledTable:
    """Every option that was tried, the cheapest that keeps all targets first."""
    return OPTIONS.fill([o for o in plan.options if o.tried])


def option_notes(plan: LanguagePlan) -> list[str]:
    """Return the notes on options in sentences, which a column of a page has no room for."""
    routers: dict[tuple[str, str], list[str]] = {}
    for option in plan.options:
        if option.note and (option.tried):
            what = ", ".join(
                word for word in (option.gpu, f"engines of {option.tp}", option.settings) if word
            )
            routers.setdefault((what, option.note), []).append(option.router)
    return [f"{what}, under {join_words(names)}: {note}." for (what, note), names in routers.items()]


def language_plan_finding(plan: LanguagePlan, ended_early_s: float | None = None) -> Finding:
    """Return what to buy; ``ended_early_s``: seconds after which the search was cancelled."""
    begin = "" if ended_early_s is None else f"Cancelled after {duration(ended_early_s)}. "
    best = plan.best
    if best is None or best.servers is None or best.price is None:
        undecided = sum(o.verdict == "open" and o.tried for o in plan.options)
        if not undecided:
            return Finding(f"{begin}No option on offer keeps all targets.", bad=True)
        options = f"{count_text(undecided, 'option')} {'is' if undecided == 1 else 'are'}"
        return Finding(
            f"{begin}No option was shown to keep all targets; {options} undecided: the results are too close "
            "to the target. Allow more runs (plan.replications), or lower the target.",
            bad=True,
        )
    span = "" if best.tp == 1 else f" with engines of {best.tp} GPUs"
    what = f"{best.servers} × {best.gpu}" if best.gpus == 1 else f"{best.servers} × {best.gpus} {best.gpu}"
    price = money(best.price, plan.currency)
    tokens = (
        ""
        if best.per_million is None
        else f", {money(best.per_million, plan.currency)} per million output tokens"
    )
    if best.prefill is not None:
        what += f", {best.prefill} for prompts and {best.servers - best.prefill} for answers,"
    settings = f" ({best.settings})" if best.settings else ""
    alike = [o for o in plan.options if o is not best and (o.verdict, o.price) == (best.verdict, best.price)]
    ways = [
        " ".join(filter(None, (f"{o.servers} × {o.gpu}", o.settings, f"under {o.router}"))) for o in alike
    ]
    also = f" At the same price also {join_words(ways)}." if ways else ""
    lead = f"{begin}Buy {what}{span}{settings} under {best.router}: {price} an hour{tokens}.{also}"
    return Finding(lead, "", price, "Per hour", "Price of the cheapest option that keeps all targets.")


def plan_notes(plan: LanguagePlan) -> list[str]:
    """State what the best option bears, and the evidence behind it."""
    best = plan.best
    lines = [f"Targets: {', '.join(plan.targets)}."]
    if best is None:
        return lines
    if best.note:
        lines.append(f"Fewer servers: {best.note}.")
    if best.headroom is not None:
        months = breaks_after(best.headroom, plan.growth) if plan.growth else None
        until = "" if months is None else f", for {months} months at this growth"
        lines.append(f"It holds up to {times_text(best.headroom)} the traffic{until}.")
    if best.without_one is not None:
        words = {"keeps": "holds", "misses": "misses", "open": "is too close to its target to decide"}
        lines.append(f"Without one server it {words[best.without_one]}.")
    rest = sum(not o.tried for o in plan.options)
    if rest:
        lines.append(f"{count_text(rest, 'more option')} would cost more by the load alone.")
    if best.servers_off is not None:
        fewer, more = (
            "no number on offer" if n is None else count_text(n, "server") for n in best.servers_off
        )
        modelled = " They are modelled: measure before you buy." if best.provenance == "modelled" else ""
        off = share_text(best.error)
        lines.append(f"With steps {off} shorter {fewer} would do, with longer ones {more}.{modelled}")
    return lines


def plan_text(plan: LanguagePlan) -> str:
    """Return the plan for terminals."""
    table = options_table(plan)
    return "\n".join(
        [language_plan_finding(plan).text, *plan_notes(plan), "", table.select(*table.deciding).text()]
    )


def request_table(
    runs: Mapping[str, Sequence[RouterReplication]], rows: Sequence[str], engines: Sequence[str]
) -> pd.DataFrame:
    """One row per measured request: router, replication, row, engine, instants and times (s), tokens.

    ``arrival_s`` is that of the request itself, ``before_s`` how long before the query came that it follows.
    A request that fits no engine, or is not complete, has no times.
    """
    import pandas as pd

    frames = [_requests_frame(name, run, rows, engines) for name, of in runs.items() for run in of]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _requests_frame(
    router: str, run: RouterReplication, rows: Sequence[str], engines: Sequence[str]
) -> pd.DataFrame:
    import pandas as pd

    numbers, times, requests = run.measured, run.times, run.requests
    names = np.array([*engines, "none"], dtype=object)  # −1 takes the last
    _, ttft_s, tpot_s, e2e_s = run.request_times(numbers)
    return pd.DataFrame(
        {
            "router": router,
            "replication": run.window.replication,
            "model": np.array(rows, dtype=object)[requests.row[numbers]],
            "engine": names[times.engine[numbers]],
            "arrival_s": times.arrival_s[numbers],
            "before_s": requests.before_s[numbers],
            "input_tokens": requests.inputs[numbers],
            "output_tokens": requests.outputs[numbers],
            "ttft_s": ttft_s,
            "tpot_s": tpot_s,
            "e2e_s": e2e_s,
            "max_gap_s": run.max_gaps(numbers),
            "preemptions": times.preemptions[numbers],
        }
    )


_MOST_EVENTS = 100_000


def language_trace(run: LanguageRun) -> ChromeTrace:
    """Return the steps of each router's chart as a Chrome trace: a thread per engine, KV as a counter."""
    events: list[TraceEvent] = []
    for pid, (router, steps) in enumerate(run.steps.items(), 1):
        events += process_names(pid, router)
        names = list(run.report.schedulers[router].engines)
        for engine in sorted({step.engine for step in steps}):
            events.append(thread_name((pid, engine + 1), names[engine]))
        for step in steps:
            events += _step_events(step, pid, names[step.engine])
    note = "Steps around the longest one of the first replication."
    return trace_of(events, {}, run.about.name, _MOST_EVENTS, note)


def _step_events(step: EngineStep, pid: int, engine: str) -> Iterator[TraceEvent]:
    """Yield the step as a slice of its engine, then the two counters: KV tokens, waiting requests."""
    clock, place = Clock(0.0), (pid, step.engine + 1)
    kind = "prompts and tokens" if step.prefill and step.decodes else "prompts" if step.prefill else "tokens"
    sizes = {"prompt_tokens": step.prefill, "answers": step.decodes, "running": step.running}
    yield clock.slice(kind, "step", place, step.begin_s, step.end_s, sizes)
    at = clock.ns(step.begin_s) / 1000
    for name, value in (("KV tokens", step.kv), ("requests waiting", step.waiting)):
        yield TraceEvent(ph="C", name=f"{name}, {engine}", pid=pid, ts=at, args={name: value})
