"""The drawn training cluster: a run as it goes on, or one moment of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nona.registry import Look
from nona.report.figures import PALETTE, scheduler_style
from nona.report.text import counted
from nona.report.training.figures import elastic_style, smooth
from nona.report.training.findings import hours_text
from nona.results.document import Document
from nona.results.elastic import ElasticHistory, ElasticLive
from nona.results.training import Live, Moment, SoFar, Stay, TrainingLive
from nona.ui.widgets.components import declare
from nona.units import format_number


class PolicyRow(Document):
    """A policy so far: its mean JCT as text and as a curve within 0 … 1, jobs by state."""

    name: str
    colour: str
    mean: str
    running: int
    waiting: int
    completed: int
    started: bool
    curve: tuple[tuple[float, float], ...]


class Lane(Document):
    """A GPU: its name, and its bars as (start, end, colour, what it is), both ends within 0 … 1."""

    name: str
    bars: tuple[tuple[float, float, str, str], ...]


class Node(Document):
    """A node: its name, and (colour, job) of each GPU; a free one has no colour."""

    name: str
    gpus: tuple[tuple[str, str], ...]


class Chart(Document):
    """A small chart of one measure: its title, its value now, and (colour, points within 0 … 1) of lines."""

    title: str
    value: str
    lines: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]


class ClusterDrawing(Document):
    """The whole picture; ``told``, ``now``, ``span``, ``more`` and ``alts`` are texts.

    Without ``policies``, ``lanes``, ``nodes`` or ``charts`` there is no such panel; ``told`` is empty where
    nothing runs.
    """

    fraction: float
    told: str
    policies: tuple[PolicyRow, ...] = ()
    lanes: tuple[Lane, ...] = ()
    now: str = ""
    span: tuple[str, str] = ("", "")
    more: str = ""
    alts: tuple[str, str]
    nodes: tuple[Node, ...] = ()
    charts: tuple[Chart, ...] = ()


MOST_LANES = 24
SPAN_S = 86_400.0  # of simulated time that is drawn, up to the last instant
_component = declare("clusterview", why="a chart is too slow for hundreds of cells that change")


def training_drawing(live: TrainingLive, fraction: float, told: str) -> ClusterDrawing:
    end_s = max((s.end_s for s in live.stays), default=0.0)
    start_s = max(end_s - SPAN_S, 0.0)
    lanes = _lanes(live.types, live.stays, start_s, end_s)
    hidden = sum(live.types.values()) - len(lanes)
    busy = {(s.gpu, k) for s in live.stays for k in s.gpus}
    return ClusterDrawing(
        fraction=fraction,
        told=told,
        policies=_rows(live, scheduler_style),
        lanes=lanes,
        now=f"under {live.focus}, sampled" if live.focus else "",
        span=(hours_text(start_s), hours_text(end_s)),
        more=f"{hidden} more GPUs are not drawn" if hidden > 0 else "",
        alts=(
            _means_text(live),
            f"{len(busy)} of {sum(live.types.values())} GPUs ran jobs recently under "
            f"{live.focus or 'no policy yet'}.",
        ),
    )


def _rows(live: Live, look: Callable[[str], Look]) -> tuple[PolicyRow, ...]:
    means = [m for p in live.policies.values() for m in p.curve if m.mean_jct_s is not None]
    end_s = max((m.time_s for m in means), default=1.0)
    most_s = max((m.mean_jct_s or 0.0 for m in means), default=1.0)

    def row(name: str) -> PolicyRow:
        so_far, now = live.policies[name], _last(live.policies[name])
        curve = [m for m in so_far.curve if m.mean_jct_s is not None]
        return PolicyRow(
            name=name,
            colour=look(name).colour,
            mean=hours_text(now.mean_jct_s),
            running=now.running,
            waiting=now.waiting,
            completed=so_far.completed,
            started=now.time_s > 0,
            curve=_points(curve, lambda m: m.mean_jct_s or 0.0, most_s, end_s),
        )

    return tuple(map(row, live.order))


def _last(so_far: SoFar) -> Moment:
    return so_far.curve[-1] if so_far.curve else Moment(0.0, 0, 0, None)


def _means_text(live: Live) -> str:
    means = [
        f"{n} {hours_text(m)}" for n in live.order if (m := _last(live.policies[n]).mean_jct_s) is not None
    ]
    return f"Mean JCT so far: {', '.join(means) or 'none known yet'}."


def _lanes(types: Mapping[str, int], stays: Sequence[Stay], start_s: float, end_s: float) -> tuple[Lane, ...]:
    each = max(1, MOST_LANES // max(1, len(types)))
    shown = [(t, k) for t, count in sorted(types.items()) for k in range(min(count, each))]
    length = max(end_s - start_s, 1e-9)
    bars: dict[tuple[str, int], list[tuple[float, float, str, str]]] = {lane: [] for lane in shown}
    for stay in stays:
        if stay.end_s <= start_s:
            continue
        ends = (max(stay.start_s, start_s) - start_s) / length, (stay.end_s - start_s) / length
        colour, jobs_text = PALETTE[stay.jobs[0] % len(PALETTE)], " + ".join(f"job {j}" for j in stay.jobs)
        for k in stay.gpus:
            if (stay.gpu, k) in bars:
                bars[stay.gpu, k].append((*ends, colour, jobs_text))
    return tuple(Lane(name=f"{t} {k}", bars=tuple(bars[t, k])) for t, k in shown)


def cluster_view(key: str, data: ClusterDrawing) -> None:
    _component(key=key, data=data.to_json())


Given = Mapping[int, Sequence[tuple[int, int]]]
MOST_NODES = 64  # that are drawn
Curve = Sequence[Moment]


def elastic_drawing(live: ElasticLive, fraction: float, told: str) -> ClusterDrawing:
    focus = live.policies.get(live.focus)
    return ClusterDrawing(
        fraction=fraction,
        told=told,
        policies=_rows(live, elastic_style),
        charts=_charts(live, focus.curve if focus else ()),
        nodes=nodes_of(live.nodes, live.gpus, live.given),
        now=f"under {live.focus} after {hours_text(live.time_s)}" if live.focus else "",
        more=_hidden(live.nodes),
        alts=(_means_text(live), _said(live.given)),
    )


def moment_drawing(history: ElasticHistory, policy: str, time_s: float) -> ClusterDrawing:
    setting = history.report.setting
    given = given_at(history, policy, time_s)
    return ClusterDrawing(
        fraction=1.0,
        told="",
        nodes=nodes_of(setting.nodes, setting.gpus, given),
        now=f"under {policy} after {hours_text(time_s)}; a number is that of a job",
        more=_hidden(setting.nodes),
        alts=("", _said(given)),
    )


def given_at(history: ElasticHistory, policy: str, time_s: float) -> Given:
    """The GPUs of every job that has some."""
    given: dict[int, Sequence[tuple[int, int]]] = {}
    for move in history.traces[policy].moves:
        if move.time_s > time_s + 1e-9:
            break
        given[move.job] = move.gpus
    return {job: gpus for job, gpus in given.items() if gpus}


def nodes_of(nodes: int, gpus: int, given: Given) -> tuple[Node, ...]:
    """The first nodes, each GPU in the colour of its job; a job fills GPUs from the left."""
    cells: list[list[tuple[str, str]]] = [[] for _ in range(nodes)]
    colours = colours_of(given)
    for job, shares in sorted(given.items()):
        for node, count in shares:
            cells[node] += [(colours[job], str(job))] * count
    return tuple(
        Node(name=f"node {k}", gpus=tuple(own + [("", "")] * (gpus - len(own))))
        for k, own in enumerate(cells[:MOST_NODES])
    )


def colours_of(given: Given) -> dict[int, str]:
    """A colour for each job: the same whenever it can be, another than those of jobs on the same node.

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


def _hidden(nodes: int) -> str:
    return f"{counted(nodes - MOST_NODES, 'more node')} not drawn" if nodes > MOST_NODES else ""


def _said(given: Given) -> str:
    used = sum(count for shares in given.values() for _, count in shares)
    wide = sum(len(shares) > 1 for shares in given.values())
    return f"{counted(used, 'GPU')} run {counted(len(given), 'job')}, {wide} of them on several nodes."


def _charts(live: ElasticLive, curve: Curve) -> tuple[Chart, ...]:
    if not curve:
        return ()
    last = curve[-1]
    rates = _rates(curve)
    smoothed = [row._replace(goodput=rate) for row, rate in zip(curve, rates, strict=True)]
    most = max(1, *(max(row.running, row.waiting) for row in curve))
    return (
        Chart(
            title="Jobs",
            value=f"{last.running} run, {last.waiting} wait",
            lines=(
                (PALETTE[1], _points(curve, lambda row: row.running, most)),
                (PALETTE[2], _points(curve, lambda row: row.waiting, most)),
            ),
        ),
        Chart(
            title="GPUs in use",
            value=f"{last.used} of {live.nodes * live.gpus}",
            lines=((PALETTE[0], _points(curve, lambda row: row.used, live.nodes * live.gpus)),),
        ),
        Chart(
            title="Goodput",
            value=f"{format_number(rates[-1])} jobs/h",
            lines=((PALETTE[3], _points(smoothed, lambda row: row.goodput)),),
        ),
    )


def _rates(curve: Curve) -> tuple[float, ...]:
    """Goodput over the last five reports, each by the simulated time that it covers.

    >>> moments = [Moment(t, 1, 0, None, 1, rate) for t, rate in ((100.0, 2.0), (101.0, 40.0))]
    >>> [round(rate, 2) for rate in _rates(tuple(moments))]
    [2.0, 2.38]
    """
    spans = [now.time_s - then for now, then in zip(curve, (0.0, *(m.time_s for m in curve)), strict=False)]
    work = smooth(tuple(m.goodput * span for m, span in zip(curve, spans, strict=True)), 5)
    return tuple(w / s if s > 0 else 0.0 for w, s in zip(work, smooth(tuple(spans), 5), strict=True))


def _points(
    curve: Curve, value: Callable[[Moment], float], most: float | None = None, end_s: float | None = None
) -> tuple[tuple[float, float], ...]:
    top = most or max((value(row) for row in curve), default=0.0) or 1.0
    end = end_s or (curve[-1].time_s if curve else 0.0) or 1.0
    return tuple((row.time_s / end, min(value(row) / top, 1.0)) for row in curve)
