"""Elastic jobs in words: the finding, tables, printed text, figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import figure, rule, scheduler_style, text
from nona.report.text import counted
from nona.report.training.figures import distributions, rho_distributions
from nona.report.training.findings import HOUR_S, hours_text, jct_text, overlap
from nona.results.elastic import (
    ElasticCourse,
    ElasticHistory,
    ElasticJobOutcome,
    ElasticLink,
    ElasticMove,
    ElasticOutcome,
    ElasticReport,
    ElasticSetting,
    ElasticTrace,
)
from nona.tables.formats import or_dash, share_text, time_text
from nona.tables.table import text_table
from nona.training.elastic.registry import ELASTIC
from nona.units import format_number

LEVEL = 0.01  # mean JCTs closer than that are said to be equal
MAIN = 0.75  # part of the difference that one reason alone explains

Policies = Mapping[str, ElasticOutcome]


def by_mean(policies: Policies) -> dict[str, float]:
    """Name → mean JCT in seconds, the shortest first."""
    means_s = {name: p.jct_s.mean for name, p in policies.items() if p.jct_s.mean is not None}
    return dict(sorted(means_s.items(), key=lambda row: (row[1], row[0])))


def hero(policies: Policies) -> tuple[str, str, str]:
    """Label, value and hint of the page's one large number."""
    best = next(iter(by_mean(policies)))
    return "Shortest mean JCT", hours_text(policies[best].jct_s.mean), f"Under {best}."


def finding(policies: Policies) -> tuple[str, str]:
    """State the winner with the reason, and the sentence in small letters under it."""
    names = list(by_mean(policies))
    best = names[0]
    if len(names) == 1:
        return f"{best} has a mean JCT of {jct_text(policies[best].jct_s)}.", _how(best, policies[best])
    second = names[1]
    a, b = policies[best], policies[second]
    shorter = 1 - (a.jct_s.mean or 0.0) / (b.jct_s.mean or 1.0)
    if shorter < LEVEL:
        large = (
            f"{best} and {second} are equally fast: mean JCTs of {jct_text(a.jct_s)} and {jct_text(b.jct_s)}."
        )
    else:
        large = (
            f"{best} has the shortest mean JCT, {share_text(shorter)} shorter than {second}: {_why(a, b)}."
        )
    if overlap(a.jct_s, b.jct_s):
        large = f"{large[:-1]}, which more runs may change."
    return large, f"{_how(best, a)} {_how(second, b)}"


def _why(a: ElasticOutcome, b: ElasticOutcome) -> str:
    """JCT = time without GPUs + time with GPUs: which of the two makes the difference."""
    waits, trains = (a.waited_s, b.waited_s), (_trained_s(a), _trained_s(b))
    gain_wait, gain_train = waits[1] - waits[0], trains[1] - trains[0]
    wait = f"its jobs wait {hours_text(waits[0])} without GPUs rather than {hours_text(waits[1])}"
    train = f"train for {hours_text(trains[0])} rather than {hours_text(trains[1])}"
    if gain_wait >= 0 and gain_train >= 0:
        whole = (gain_wait + gain_train) or 1.0
        if gain_wait / whole >= MAIN:
            return wait
        return f"its jobs {train}" if gain_train / whole >= MAIN else f"{wait} and {train}"
    if gain_wait > 0:
        return f"{wait}, though they {train}"
    waiting = f"wait {hours_text(waits[0])} without GPUs rather than {hours_text(waits[1])}"
    return f"its jobs {train}, though they {waiting}"


def _trained_s(of: ElasticOutcome) -> float:
    """Mean time with GPUs of the first run."""
    jcts = [job.jct_s for job in of.jobs]
    return sum(jcts) / len(jcts) - of.waited_s if jcts else 0.0


def _how(name: str, of: ElasticOutcome) -> str:
    """State the averages of jobs under a policy."""
    return (
        f"Under {name} a job with GPUs has {format_number(of.mean_gpus)} on average, at a statistical "
        "efficiency of "
        f"{share_text(of.efficiency)}; {share_text(of.utilization)} of the GPUs are in use."
    )


def measure_title(measure: str, unit: str, means: Mapping[str, float]) -> str:
    """The largest and the smallest mean over a run.

    >>> measure_title("GPUs in use", "GPUs", {"a": 60.0, "b": 48.0})
    'GPUs in use: 60 GPUs on average under a, 48 under b'
    """
    order = sorted(means, key=lambda n: (-means[n], n))
    said = f"{measure}: {format_number(means[order[0]])} {unit} on average under {order[0]}"
    return said if len(order) == 1 else f"{said}, {format_number(means[order[-1]])} under {order[-1]}"


def cdf_title(policies: Policies) -> str:
    """The 95th percentiles, shortest and longest."""
    p95_s = {n: p.jct_s.p95 for n, p in policies.items() if p.jct_s.p95 is not None}
    best, worst = min(p95_s, key=lambda n: (p95_s[n], n)), max(p95_s, key=lambda n: (p95_s[n], n))
    said = f"The 95th percentile of JCT is {hours_text(p95_s[best])} under {best}"
    return said if best == worst else f"{said}, {hours_text(p95_s[worst])} under {worst}"


def rho_title(policies: Policies) -> str:
    """The policy whose worst ρ is least, and how many of its jobs would be faster on an equal share."""
    rhos = {
        n: values for n, p in policies.items() if (values := [j.rho for j in p.jobs if j.rho is not None])
    }
    if not rhos:
        return "Profiles do not say how fast these jobs are on an equal share"
    best = min(rhos, key=lambda n: (max(rhos[n]), n))
    above = sum(value > 1 for value in rhos[best]) / len(rhos[best])
    return (
        f"The worst ρ is lowest under {best}: {format_number(max(rhos[best]))}; {share_text(above)} of "
        "its jobs would "
        "be faster on an equal share of the cluster"
    )


Cell = str | float | None
DECIDING = (
    "policy",
    "mean JCT",
    "p95 JCT",
    "waiting",
    "waiting for the link",
    "GPUs of a job",
    "efficiency",
    "GPUs in use",
    "worst ρ",
)
THERE = "jobs that share or wait"
JOB_DECIDING = ("job", "application", "GPUs asked", "JCT, h", "waited, h", "ρ")


def policy_rows(policies: Policies) -> list[dict[str, Cell]]:
    """A row for each policy; intervals are over runs with other random numbers."""
    rows: list[dict[str, Cell]] = []
    linked = any(p.link_share for p in policies.values())
    for name, p in policies.items():
        rhos = [job.rho for job in p.jobs if job.rho is not None]
        rows.append(
            {
                "policy": name,
                "mean JCT": jct_text(p.jct_s),
                "median JCT": hours_text(p.jct_s.p50),
                "p95 JCT": hours_text(p.jct_s.p95),
                "p99 JCT": hours_text(p.jct_s.p99),
                "authors' mean JCT": hours_text(p.published_s),
                "makespan": hours_text(p.makespan_s),
                "waiting": hours_text(p.waited_s),
                "GPUs of a job": format_number(p.mean_gpus),
                "efficiency": share_text(p.efficiency),
                "GPUs in use": share_text(p.utilization),
                "restarts": f"{p.restarts:.2f}",
                "paused": share_text(p.paused_share, 1),
                **({"waiting for the link": share_text(p.link_share, 1)} if linked else {}),
                "mean ρ": format_number(sum(rhos) / len(rhos)) if rhos else "–",
                "worst ρ": format_number(max(rhos)) if rhos else "–",
                "runs": p.replications,
            }
        )
    return rows


def job_rows(jobs: Sequence[ElasticJobOutcome]) -> list[dict[str, Cell]]:
    """A row for each job of the first run."""
    return [
        {
            "job": job.name,
            "application": job.application,
            "GPUs asked": job.gpus,
            "batch asked": job.batch,
            "arrival, h": round(job.arrival_s / 3600, 3),
            "JCT, h": round(job.jct_s / 3600, 3),
            "waited, h": round(job.waited_s / 3600, 3),
            "GPU hours": round(job.gpu_s / 3600, 3),
            "restarts": job.restarts,
            "ρ": None if job.rho is None else round(job.rho, 3),
        }
        for job in jobs
    ]


def change_rows(trace: ElasticTrace, job: int) -> list[dict[str, Cell]]:
    """Tabulate each change of a job's GPUs, with the policy's figures at that time."""
    moves = [move for move in trace.moves if move.job == job]
    return list(_changes(trace, moves))


def _changes(trace: ElasticTrace, moves: Sequence[ElasticMove]) -> Iterator[dict[str, Cell]]:
    first = ElasticMove(time_s=0.0, job=0, gpus=(), value=None, facts={})
    for before, move in pairwise([first, *moves]):
        row: dict[str, Cell] = {
            "at, h": round(move.time_s / 3600, 3),
            "change": _change_text(before, move, move is moves[-1]),
            "GPUs": _size_of(move),
            "nodes": " ".join(f"{node}:{gpus}" for node, gpus in move.gpus) or "–",
        }
        if trace.value:
            row[trace.value] = _figure(move.value)
        row |= {what: _figure(value) for what, value in move.facts.items()}
        yield row | {THERE: _there(trace, move.time_s)}


def deciding_changes(trace: ElasticTrace, columns: Iterable[str]) -> list[str]:
    """Choose the columns of changes that fit a page: the change, and the first two figures behind it."""
    usual = ("at, h", "change", "GPUs")
    why = [c for c in columns if c not in (*usual, "nodes", THERE)]
    return [*usual, *(sorted(why, key=lambda c: c != trace.value)[:2])]


def _size_of(move: ElasticMove) -> int:
    """GPUs in all.

    >>> _size_of(ElasticMove(time_s=0, job=0, gpus=((3, 4), (0, 2)), value=None, facts={}))
    6
    """
    return sum(gpus for _, gpus in move.gpus)


def _change_text(before: ElasticMove, move: ElasticMove, last: bool = False) -> str:
    """Name a change of GPUs.

    >>> moves = [ElasticMove(time_s=t, job=0, gpus=g, value=None, facts={})
    ...          for t, g in enumerate([(), ((0, 1),), ((0, 4),), ((1, 4),), ((1, 2),), ()])]
    >>> [_change_text(a, b) for a, b in zip(moves, moves[1:])]
    ['starts', 'grows', 'moves', 'shrinks', 'pauses']
    """
    old, new = _size_of(before), _size_of(move)
    if not new:
        return "completes" if last else "pauses"
    if not old:
        return "starts"
    return "moves" if new == old else "grows" if new > old else "shrinks"


def _there(trace: ElasticTrace, time_s: float) -> str:
    """Jobs with and without GPUs at the last kept tick up to a time."""
    k = max((i for i, t in enumerate(trace.time_s) if t <= time_s + 1e-9), default=0)
    return f"{trace.running[k]} + {trace.waiting[k]}"


def _figure(value: float | None) -> str:
    return or_dash(value, format_number)


def every_job(data: ElasticHistory) -> list[dict[str, Cell]]:
    """A row for each job under each policy, in plain units, for files."""
    return [{"policy": name, **job.to_json()} for name, p in data.report.policies.items() for job in p.jobs]


def course_rows(data: ElasticHistory) -> list[dict[str, Cell]]:
    """A row for each policy, job with GPUs and tick, in plain units, for files."""
    return [
        {
            "policy": policy,
            "job": name,
            "time_s": time_s,
            "gpus": gpus,
            "batch": batch,
            "efficiency": efficiency,
            "goodput": goodput,
        }
        for policy, trace in data.traces.items()
        for name, c in zip(data.jobs, trace.courses, strict=False)
        for time_s, gpus, batch, efficiency, goodput in zip(
            c.time_s, c.gpus, c.batch, c.efficiency, c.goodput, strict=True
        )
    ]


COLUMNS = (
    *("policy", "mean JCT", "± 95 %", "authors' mean", "difference", "p50", "p95", "makespan"),
    *("GPUs in use", "restarts", "paused", "waiting for the link"),
)


def elastic_text(report: ElasticReport) -> str:
    """Format the policies side by side, then the setting and the verdict of the checks."""
    return "\n".join(_lines(report))


def _lines(report: ElasticReport) -> Iterator[str]:
    rows = [_policy_row(name, outcome) for name, outcome in report.policies.items()]
    shown = [c for c in COLUMNS if any(row[c] != "–" for row in rows)]
    yield text_table(rows, shown)
    yield ""
    yield setting_text(report.setting)
    passed = sum(report.checks.values())
    yield f"{passed} of {len(report.checks)} self-checks held; {time_text(report.seconds)}."
    yield from report.failed_checks


def _policy_row(name: str, outcome: ElasticOutcome) -> dict[str, str]:
    """A policy's figures as the text of table cells; "–" where there is none."""
    jct, published_s = outcome.jct_s, outcome.published_s
    half = "–" if jct.ci95 is None else f"{(jct.ci95[1] - jct.ci95[0]) / 2:,.0f} s"
    difference = (
        "–" if published_s is None or jct.mean is None else f"{100 * (jct.mean / published_s - 1):+.1f} %"
    )
    return {
        "policy": name,
        "mean JCT": _seconds(jct.mean),
        "± 95 %": half,
        "authors' mean": _seconds(published_s),
        "difference": difference,
        "p50": _seconds(jct.p50),
        "p95": _seconds(jct.p95),
        "makespan": f"{outcome.makespan_s / HOUR_S:.1f} h",
        "GPUs in use": share_text(outcome.utilization),
        "restarts": f"{outcome.restarts:.2f}",
        "paused": share_text(outcome.paused_share, 1),
        "waiting for the link": share_text(outcome.link_share, 1) if outcome.link_share else "–",
    }


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f} s"


def setting_text(of: ElasticSetting) -> str:
    """State the setting of the run in one or two sentences."""
    slowed = (
        f"; jobs on several nodes that share one lose {share_text(of.interference)} of their speed"
        if of.interference
        else ""
    )
    linked = f"; {_link_text(of.link)}" if of.link else ""
    nodes = f"{counted(of.nodes, 'node')} with {counted(of.gpus, 'GPU')}"
    return (
        f"Workload {of.workload} at load {of.load:g}: {counted(of.jobs, 'job')} on {nodes}{linked}; ticks of "
        f"{of.tick_s} s, restarts of {of.restart_s} s{slowed}; seed {of.seed}. Profiles: {of.profiles}."
    )


def _link_text(link: ElasticLink) -> str:
    """The link in a few words.

    >>> _link_text(ElasticLink(capacity=1.25e9, latency_s=2e-5, discipline="fifo", background=0.5,
    ...     mean_bytes=1e6, scv=1.0))
    'a link of 10 Gbit/s (fifo) with 50 % background'
    """
    return (
        f"a link of {link.capacity * 8e-9:g} Gbit/s ({link.discipline}) with "
        f"{share_text(link.background)} background"
    )


Gaps = list[float | None]
Traces = Mapping[str, ElasticTrace]
MEASURES: Mapping[str, tuple[str, Callable[[ElasticTrace], tuple[float, ...]]]] = {
    "GPUs in use": ("GPUs", lambda trace: trace.used),
    "Jobs that run": ("jobs", lambda trace: trace.running),
    "Jobs that wait": ("jobs", lambda trace: trace.waiting),
    "Goodput": ("jobs' worth of progress per hour", lambda trace: smooth(trace.goodput)),
}
WINDOW = 15  # ticks of a mean of goodput


def elastic_style(name: str) -> Look:
    """The look of a policy for elastic jobs."""
    registered = ELASTIC.get(name)
    look = None if registered is None else registered.look
    return look or scheduler_style(name)


def smooth(values: tuple[float, ...], window: int = WINDOW) -> tuple[float, ...]:
    """Means of the last values.

    >>> smooth((2.0, 4.0, 6.0), 2)
    (2.0, 3.0, 5.0)
    """
    means, total = [], 0.0
    for k, value in enumerate(values):
        total += value - (values[k - window] if k >= window else 0.0)
        means.append(max(total, 0.0) / min(k + 1, window))
    return tuple(means)


def jct_figure(policies: Policies) -> go.Figure:
    """Share of the jobs complete within a time, one line for each policy."""
    hours = {name: [job.jct_s / HOUR_S for job in p.jobs] for name, p in policies.items()}
    return distributions(hours, elastic_style, "JCT, h", "within %{x:,.3~r} h")


def rho_figure(policies: Policies) -> go.Figure:
    """Share of the jobs with at most a ρ; at 1 a job is as fast as on an equal share."""
    return rho_distributions({n: [job.rho for job in p.jobs] for n, p in policies.items()}, elastic_style)


def time_figure(traces: Traces, measure: str, at_s: float | None = None) -> go.Figure:
    """One measure of the cluster over time, a line for each policy; ``at_s`` is marked."""
    unit, values = MEASURES[measure]
    chart = figure(320)
    for name, trace in traces.items():
        style = elastic_style(name)
        chart.add_scatter(
            x=[t / HOUR_S for t in trace.time_s],
            y=values(trace),
            name=text(name),
            mode="lines",
            line={"color": style.colour, "dash": style.dash, "width": 1.6, "shape": "hv"},
            hovertemplate=f"{text(name)}: %{{y:,.3~r}} {unit} at %{{x:.2f}} h<extra></extra>",
        )
    if at_s is not None:
        rule(chart, at_s / HOUR_S, "", "x")
    chart.update_xaxes(title="hours", rangemode="tozero")
    chart.update_yaxes(title=unit, rangemode="tozero")
    return chart


ROWS: tuple[tuple[str, Callable[[ElasticCourse], tuple[float, ...]]], ...] = (
    ("GPUs", lambda course: course.gpus),
    ("batch, samples", lambda course: course.batch),
    ("goodput, samples/s", lambda course: course.goodput),
    ("efficiency", lambda course: course.efficiency),
)


def _broken(course: ElasticCourse, values: Sequence[float], tick_s: float) -> tuple[Gaps, Gaps]:
    """Times and values of a course, with a gap wherever the job had no GPUs.

    >>> some = ElasticCourse(time_s=(60, 120, 300), gpus=(), batch=(), efficiency=(), goodput=())
    >>> _broken(some, (4, 5, 6), 60)
    ([0.0, 60.0, 120.0, 120.0, 240.0, 300.0, 300.0], [4, 5, 5, None, 6, 6, None])
    """
    x: Gaps = []
    y: Gaps = []
    for k, (time_s, value) in enumerate(zip(course.time_s, values, strict=True)):
        x.append(time_s - tick_s)
        y.append(value)
        if k + 1 == len(values) or course.time_s[k + 1] - time_s > 1.5 * tick_s:
            x += [time_s, time_s]
            y += [value, None]
    return x, y


def job_figure(courses: Mapping[str, ElasticCourse], arrival_s: float, tick_s: float) -> go.Figure:
    """GPUs, batch size, goodput and statistical efficiency of one job since its arrival, by policy."""
    chart = figure(620)
    for row, (title, values) in enumerate(ROWS):
        top = 0.93 * (1 - row / len(ROWS))
        axis = "y" if not row else f"y{row + 1}"
        for name, course in courses.items():
            style, (times, shown) = elastic_style(name), _broken(course, values(course), tick_s)
            chart.add_scatter(
                x=[None if t is None else (t - arrival_s) / HOUR_S for t in times],
                y=shown,
                yaxis=axis,
                name=text(name),
                legendgroup=text(name),
                showlegend=not row,
                mode="lines",
                line={"color": style.colour, "dash": style.dash, "width": 1.6, "shape": "hv"},
                hovertemplate=f"{text(name)}: %{{y:,.3~r}} ({title}) after %{{x:.2f}} h<extra></extra>",
            )
        look = {
            "domain": [top - 0.19, top],
            "title": {"text": title},
            "rangemode": "tozero",
            "automargin": True,
            "gridcolor": "rgba(128,128,128,.22)",
            "zeroline": False,
            "anchor": "x",
        }
        chart.update_layout({f"yaxis{row + 1 if row else ''}": look})
    chart.update_xaxes(title="hours since its arrival", anchor=f"y{len(ROWS)}", rangemode="tozero")
    return chart
