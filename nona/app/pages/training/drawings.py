"""The training cluster, drawn: a run as it goes on, or one moment of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nona.app.widgets.components import Node, Points, PolicyLine, curves, el, panel, policies_panel
from nona.core.figures import PALETTE, scheduler_style
from nona.core.registry import ChartStyle
from nona.core.text import count_text
from nona.core.units import format_number
from nona.training.elastic.results import ElasticHistory, ElasticLive
from nona.training.report.figures import elastic_style, smooth
from nona.training.report.findings import hours_text
from nona.training.results import GpuInterval, LivePolicies, RunMoment, TrainingLive

MOST_LANES = 24
SPAN_S = 86_400.0  # of simulated time that is drawn, up to the last instant


def training_drawing(live: TrainingLive) -> Node:
    """Return the mean JCT so far under each policy, and each GPU's jobs of the last day under one policy."""
    end_s = max((s.end_s for s in live.stays), default=0.0)
    start_s = max(end_s - SPAN_S, 0.0)
    lanes, gpus = _gpu_lanes(live.types, live.stays, start_s, end_s), sum(live.types.values())
    busy = {(s.gpu, k) for s in live.stays for k in s.gpus}
    return el(
        "div",
        "live",
        _progress_panel(live, scheduler_style),
        panel(
            "GPUs by job",
            f"under {live.focus}, sampled" if live.focus else "",
            f"{len(busy)} of {gpus} GPUs ran jobs recently under {live.focus or 'no policy yet'}.",
            *lanes,
            el("div", "note ends", *(el("span", "", hours_text(time_s)) for time_s in (start_s, end_s))),
            _more(gpus - len(lanes), "GPU"),
        ),
    )


def _progress_panel(live: LivePolicies, style_of: Callable[[str], ChartStyle]) -> Node:
    """Return one line per policy: the curve of its mean JCT so far; jobs that run, wait and are done."""
    means = [m for p in live.policies.values() for m in p.curve if m.mean_jct_s is not None]
    end_s = max((m.time_s for m in means), default=1.0)
    most_s = max((m.mean_jct_s or 0.0 for m in means), default=1.0)
    latest = {name: p.curve[-1] for name, p in live.policies.items() if p.curve}

    def row(name: str) -> PolicyLine:
        now, so_far = latest.get(name), live.policies[name]
        numbers: tuple[str, ...] = ()
        if now is not None and now.time_s > 0:
            counts = (now.running, now.waiting, so_far.completed)
            numbers = (hours_text(now.mean_jct_s), *map(str, counts))
        curve = [m for m in so_far.curve if m.mean_jct_s is not None]
        return PolicyLine(
            name, style_of(name).colour, _points(curve, lambda m: m.mean_jct_s or 0.0, most_s, end_s), numbers
        )

    texts = [f"{n} {hours_text(m.mean_jct_s)}" for n, m in latest.items() if m.mean_jct_s is not None]
    alt = f"Mean JCT so far: {', '.join(texts) or 'none known yet'}."
    headings = ("over time", "mean JCT", "run", "wait", "done")
    return policies_panel("", alt, headings, [row(name) for name in live.order])


def _gpu_lanes(
    types: Mapping[str, int], stays: Sequence[GpuInterval], start_s: float, end_s: float
) -> list[Node]:
    """Return a lane for each of the first GPUs of every type, with the jobs that ran on it as bars."""
    each = max(1, MOST_LANES // max(1, len(types)))
    length = max(end_s - start_s, 1e-9)
    bars: dict[tuple[str, int], list[Node]] = {
        (t, k): [] for t, count in sorted(types.items()) for k in range(min(count, each))
    }
    for stay in stays:
        if stay.end_s <= start_s:
            continue
        begin_s = max(stay.start_s, start_s)
        bar = el(
            "i",
            "",
            title=" + ".join(f"job {j}" for j in stay.jobs),
            __x=f"{100 * (begin_s - start_s) / length:.3f}%",
            __w=f"{100 * (stay.end_s - begin_s) / length:.3f}%",
            __c=PALETTE[stay.jobs[0] % len(PALETTE)],
        )
        for k in stay.gpus:
            if (stay.gpu, k) in bars:
                bars[stay.gpu, k].append(bar)
    return [
        el("div", "lane", el("span", "", f"{t} {k}"), el("div", "", *own)) for (t, k), own in bars.items()
    ]


def _more(hidden: int, noun: str) -> Node | None:
    return el("div", "note", f"{count_text(hidden, f'more {noun}')} not drawn") if hidden > 0 else None


GpusByJob = Mapping[int, Sequence[tuple[int, int]]]
MOST_NODES = 64  # that are drawn


def elastic_drawing(live: ElasticLive) -> Node:
    """Return the policies so far, three measures of one of them, and the GPUs of its jobs now."""
    focus = live.policies.get(live.focus)
    now = f"under {live.focus} after {hours_text(live.time_s)}" if live.focus else ""
    return el(
        "div",
        "live",
        _progress_panel(live, elastic_style),
        _measures(live, focus.curve) if focus and focus.curve else None,
        _nodes_panel(live.nodes, live.gpus, live.given, now),
    )


def moment_drawing(history: ElasticHistory, policy: str, time_s: float) -> Node:
    """Draw the GPUs of every job at one moment of a run that has ended."""
    setting = history.report.setting
    now = f"under {policy} after {hours_text(time_s)}; a number is that of a job"
    given = given_at(history, policy, time_s)
    return el("div", "live", _nodes_panel(setting.nodes, setting.gpus, given, now))


def given_at(history: ElasticHistory, policy: str, time_s: float) -> GpusByJob:
    """Return the GPUs of every job that has some."""
    given: dict[int, Sequence[tuple[int, int]]] = {}
    for move in history.traces[policy].moves:
        if move.time_s > time_s + 1e-9:
            break
        given[move.job] = move.gpus
    return {job: gpus for job, gpus in given.items() if gpus}


def _nodes_panel(nodes: int, gpus: int, given: GpusByJob, now: str) -> Node:
    """Return the first nodes, each GPU in the colour of its job; a job fills GPUs from the left."""
    cells: list[list[Node]] = [[] for _ in range(nodes)]
    colours = colours_of(given)
    for job, shares in sorted(given.items()):
        for node, count in shares:
            cells[node] += [el("i", "", str(job), title=f"job {job}", __c=colours[job])] * count
    free = el("i", "", title="free")
    drawn = [
        el(
            "div",
            "node",
            el("span", "note", f"node {k}"),
            el("div", "cells", *own, *[free] * (gpus - len(own))),
        )
        for k, own in enumerate(cells[:MOST_NODES])
    ]
    used = sum(count for shares in given.values() for _, count in shares)
    wide = sum(len(shares) > 1 for shares in given.values())
    return panel(
        "GPUs by job",
        now,
        f"{count_text(used, 'GPU')} run {count_text(len(given), 'job')}, {wide} of them on several nodes.",
        el("div", "nodes", *drawn),
        _more(nodes - MOST_NODES, "node"),
    )


def colours_of(given: GpusByJob) -> dict[int, str]:
    """Return a colour for each job: the same whenever it can be, another than those of jobs on the same node.

    Jobs on many nodes choose first.

    >>> colours = colours_of({1: [(0, 2)], 11: [(0, 1), (1, 1)], 21: [(2, 4)]})
    >>> colours[1] != colours[11], colours[21] == colours[11]
    (True, True)
    """
    there: dict[int, set[str]] = {}
    colours: dict[int, str] = {}
    for job in sorted(given, key=lambda job: (-len(given[job]), job)):
        own = PALETTE[job % len(PALETTE) :] + PALETTE[: job % len(PALETTE)]
        taken = {colour for node, _ in given[job] for colour in there.get(node, ())}
        colours[job] = next((colour for colour in own if colour not in taken), own[0])
        for node, _ in given[job]:
            there.setdefault(node, set()).add(colours[job])
    return colours


def _measures(live: ElasticLive, curve: Sequence[RunMoment]) -> Node:
    last, rates, gpus = curve[-1], _rates(curve), live.nodes * live.gpus
    smoothed = [row._replace(goodput=rate) for row, rate in zip(curve, rates, strict=True)]
    most = max(1, *(max(row.running, row.waiting) for row in curve))
    running = PALETTE[1], _points(curve, lambda row: row.running, most)
    waiting = PALETTE[2], _points(curve, lambda row: row.waiting, most)
    used = PALETTE[0], _points(curve, lambda row: row.used, gpus)
    goodput = PALETTE[3], _points(smoothed, lambda row: row.goodput)
    return el(
        "div",
        "measures",
        _measure("Jobs", f"{last.running} run, {last.waiting} wait", running, waiting),
        _measure("GPUs in use", f"{last.used} of {gpus}", used),
        _measure("Goodput", f"{format_number(rates[-1])} jobs/h", goodput),
    )


def _measure(title: str, value: str, *lines: tuple[str, Points]) -> Node:
    return panel(title, value, f"{title}: {value}", curves(*lines))


def _rates(curve: Sequence[RunMoment]) -> tuple[float, ...]:
    """Goodput over the last five reports, each by the simulated time that it covers.

    >>> moments = [RunMoment(t, 1, 0, None, 1, rate) for t, rate in ((100.0, 2.0), (101.0, 40.0))]
    >>> [round(rate, 2) for rate in _rates(tuple(moments))]
    [2.0, 2.38]
    """
    spans = [now.time_s - then for now, then in zip(curve, (0.0, *(m.time_s for m in curve)), strict=False)]
    work = smooth(tuple(m.goodput * span for m, span in zip(curve, spans, strict=True)), 5)
    return tuple(w / s if s > 0 else 0.0 for w, s in zip(work, smooth(tuple(spans), 5), strict=True))


def _points(
    curve: Sequence[RunMoment],
    value: Callable[[RunMoment], float],
    most: float | None = None,
    end_s: float | None = None,
) -> Points:
    top = most or max((value(row) for row in curve), default=0.0) or 1.0
    end = end_s or (curve[-1].time_s if curve else 0.0) or 1.0
    return tuple((row.time_s / end, min(value(row) / top, 1.0)) for row in curve)
