"""The study of network views: rows and findings on the idle and the loaded link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import BAD, GOOD, PLAIN, add_line, add_means, figure, text
from nona.report.text import listed, verb
from nona.results.document import Estimate
from nona.schedulers.registry import SCHEDULERS
from nona.tables import TIME, WHOLE_SHARE, Column, Filled, Table, share_text
from nona.units import format_number
from studies.network_remarks import NetworkRemark, known_remarks
from studies.presented import Presented, Shown
from studies.results import NetworkViewRow, NetworkViewsStudy, OnLink

NOT_RUN = "not in this run"
SOURCE = "its source says"  # of a remark: a column of long texts


def _rows_of(data: NetworkViewsStudy) -> Mapping[str, NetworkViewRow]:
    """Scheduler → its row, of those that are registered.

    A row whose scheduler is gone or has another network view than in the study is left out.
    """
    return {
        row.scheduler: row
        for row in data.rows
        if row.scheduler in SCHEDULERS and SCHEDULERS[row.scheduler].network_view.name == row.view
    }


def _jct(on: OnLink | None) -> Estimate | str:
    return NOT_RUN if on is None else on.state if on.jct_s.mean is None else on.jct_s


def _slowdown(row: NetworkViewRow | None) -> Estimate | str:
    return NOT_RUN if row is None else row.slowdown if row.sends else "no tensor"


class _Remarked(NamedTuple):
    remark: NetworkRemark
    row: NetworkViewRow | None


def remarks(data: NetworkViewsStudy) -> Filled:
    """Each system that the slides remark on and whose scheduler is registered."""
    by_scheduler = _rows_of(data)
    columns: tuple[Column[_Remarked], ...] = (
        Column("system", lambda r: r.remark.system),
        Column("the slides say", lambda r: r.remark.slides),
        Column("the remark is", lambda r: r.remark.verdict),
        Column("view here", lambda r: SCHEDULERS[r.remark.scheduler].network_view.name),
        Column("JCT, idle link", lambda r: _jct(r.row.idle if r.row else None), TIME, interval=True),
        Column("JCT, loaded link", lambda r: _jct(r.row.loaded if r.row else None), TIME, interval=True),
        Column("loaded / idle", lambda r: _slowdown(r.row), interval=True),
        Column(SOURCE, lambda r: f"{r.remark.source} ({r.remark.evidence})"),
    )
    return Table("", columns).of(_Remarked(r, by_scheduler.get(r.scheduler)) for r in known_remarks())


def views(data: NetworkViewsStudy) -> Filled:
    """Each scheduler, the one that the loaded link slows most first."""
    columns: tuple[Column[NetworkViewRow], ...] = (
        Column("scheduler", lambda r: r.scheduler),
        Column("view", lambda r: f"{r.view}, and the mean background" if r.planned else r.view),
        Column("JCT, idle link", lambda r: _jct(r.idle), TIME, "jct_idle", interval=True),
        Column("JCT, loaded link", lambda r: _jct(r.loaded), TIME, "jct_loaded", interval=True),
        Column("loaded / idle", _slowdown, key="slowdown", interval=True),
        Column("to local, idle", lambda r: r.idle.to_local, interval=True),
        Column("to local, loaded", lambda r: r.loaded.to_local, interval=True),
        Column("link busy, idle", lambda r: r.idle.link, WHOLE_SHARE),
        Column("link busy, loaded", lambda r: r.loaded.link, WHOLE_SHARE),
    )
    return Table("", columns).of(by_slowdown(data))


def by_slowdown(data: NetworkViewsStudy) -> list[NetworkViewRow]:
    """The rows, those without a steady state first, then by slowdown, largest first."""
    return sorted(
        _rows_of(data).values(),
        key=lambda row: (row.idle.lost, row.loaded.lost, row.slowdown.mean or 0.0),
        reverse=True,
    )


class _OnLink(NamedTuple):
    row: NetworkViewRow
    name: str
    background: float
    on: OnLink


def figures(data: NetworkViewsStudy) -> Filled:
    """Each scheduler and link, for files."""
    columns: tuple[Column[_OnLink], ...] = (
        Column("scheduler", lambda r: r.row.scheduler),
        Column("network_view", lambda r: r.row.view),
        Column("link", lambda r: r.name),
        Column("background", lambda r: r.background),
        Column("state", lambda r: r.on.state),
        Column("jct", lambda r: r.on.jct_s, TIME, interval=True),
        Column("to_local", lambda r: r.on.to_local),
        Column("slowdown", lambda r: r.row.slowdown),
        Column("link_utilization", lambda r: r.on.link),
    )
    return Table("", columns).of(
        on
        for row in data.rows
        for on in (
            _OnLink(row, "idle", 0.0, row.idle),
            _OnLink(row, "loaded", data.about.background, row.loaded),
        )
    )


LIVE = "N4"


def loses(row: NetworkViewRow) -> bool:
    """Return whether the loaded link surely makes a scheduler slower, or takes its steady state."""
    return row.loaded.lost or _above_1(row.slowdown)


def _above_1(ratio: Estimate) -> bool:
    return ratio.ci95 is not None and ratio.ci95[0] > 1


def _slowdown_text(row: NetworkViewRow) -> str:
    slowdown = "no steady state" if row.loaded.lost else _times_text(row.slowdown.mean)
    return f"{row.scheduler} ({slowdown})"


def _times_text(ratio: float | None) -> str:
    """A ratio of two times in words.

    >>> _times_text(2.163), _times_text(1.0004)
    ('2.16 times as long', 'equally long')
    """
    if ratio is None:
        return "unknown"
    shown = format_number(ratio)
    return "equally long" if shown == "1" else f"{shown} times as long"


def title(data: NetworkViewsStudy) -> str:
    """The main finding in one sentence."""
    senders = _senders(data)
    losers = [r for r in senders if loses(r)]
    if not senders:
        return "No scheduler in this run sends tensors, so none depends on the link"
    text = f"{len(losers)} of {len(senders)} schedulers that send tensors and do not see the queue are slower"
    text += " on the loaded link"
    if losers:
        text += f", most of all {_slowdown_text(losers[0])}"
    return text


def findings(data: NetworkViewsStudy) -> list[str]:
    """List the findings: schedulers that lose, fall behind local, see the queue, or send nothing."""
    rows = by_slowdown(data)
    lines = [_losers(data), _crossed(rows), _silent(rows), planned_text(data)]
    return [line for line in lines if line]


def _senders(data: NetworkViewsStudy) -> list[NetworkViewRow]:
    return [r for r in by_slowdown(data) if r.sends and r.view != LIVE]


def _losers(data: NetworkViewsStudy) -> str:
    senders = _senders(data)
    losers = [_slowdown_text(r) for r in senders if loses(r)]
    others = [r.scheduler for r in senders if not loses(r)]
    if not losers:
        return ""
    text = f"Slower on the loaded link, without seeing its queue: {listed(losers)}."
    return text + (f" Not clearly slower: {listed(others)}." if others else "")


def _crossed(rows: Iterable[NetworkViewRow]) -> str:
    """Those that splitting helps on the idle link and harms on the loaded one."""
    quicker = [r for r in rows if (ends := r.idle.to_local.ci95) is not None and ends[1] < 1]
    names = [r.scheduler for r in quicker if r.loaded.lost or _above_1(r.loaded.to_local)]
    if not names:
        return ""
    return f"Faster than local on the idle link, and slower than local on the loaded one: {listed(names)}."


def _silent(rows: Iterable[NetworkViewRow]) -> str:
    names = [r.scheduler for r in rows if not r.sends]
    if not names:
        return ""
    text = f"Nothing changes for those that keep queries whole and so send no tensor: {listed(names)}."
    systems = [r.system for r in known_remarks() if r.scheduler in names]
    return text + (f" So the figures do not test the remarks on {listed(systems)}." if systems else "")


def planned_text(data: NetworkViewsStudy) -> str:
    """Describe the input of schedulers with a placement solved before the run; empty without any."""
    planned = [r.scheduler for r in by_slowdown(data) if r.planned]
    if not planned:
        return ""
    return (
        f"{listed(planned)} {verb(planned, 'draws', 'draw')} from a placement that was solved before the run "
        "for the capacity of the link and the mean load of its background, without its queue; no other "
        "scheduler is given the background. During the run each has its own view."
    )


def presented(data: NetworkViewsStudy) -> Presented:
    """The study with its tables: the remarks with both figures, their sources, every scheduler."""
    rows, both = remarks(data), "The slides' remarks on the network, and the two figures"
    sources = rows.select("system", "the slides say", "the remark is", SOURCE)
    tables = (
        Shown("network-remarks", both, rows.without(SOURCE)),
        Shown("network-views", "Every scheduler on an idle and on a loaded link", views(data)),
        Shown("network-sources", "What the systems' sources say (recollected)", sources, folded=True),
    )
    a = data.about
    scenario = (
        f"{a.servers} servers ({a.gpu}), the workflow {a.model} at {share_text(a.load)} of the executors, a "
        f"link of {a.capacity}. Both links get the same jobs; on the loaded one messages of others (1 MB on "
        f"average) take {share_text(a.background)} of the link."
    )
    provenance = (
        f"{a.origin}, {a.replications} runs of {a.jobs:,} jobs for each scheduler and link, "
        f"{a.seconds:.0f} s. Intervals: 95 % over the runs; those of ratios are Fieller's."
    )
    return Presented(title(data), findings(data), tables, scenario, provenance)


ROW_PX, REST_PX = 26, 130


def network_views_figure(data: NetworkViewsStudy) -> go.Figure:
    """Two points per scheduler with their 95 % intervals, joined by a line; milliseconds, logarithmic.

    The scheduler that the loaded link slows most is on top; one without a steady state has no point.
    """
    rows = by_slowdown(data)
    chart = figure(REST_PX + ROW_PX * len(rows))
    names = [text(f"{r.scheduler}  {r.view}") for r in rows]
    for name, row in zip(names, rows, strict=True):
        ends = [on.jct_s.mean for on in (row.idle, row.loaded)]
        if None not in ends:
            add_line(chart, "", [1e3 * e for e in ends if e is not None], [name, name], PLAIN)
    background = data.about.background
    _points(chart, names, [r.idle for r in rows], "idle link", GOOD, "circle-open")
    _points(chart, names, [r.loaded for r in rows], f"link {share_text(background)} loaded", BAD, "diamond")
    _without_steady_state(chart, names, rows)
    chart.update_yaxes(categoryorder="array", categoryarray=names[::-1], automargin=True)
    chart.update_xaxes(type="log", title="mean JCT, ms (log)")
    return chart


def _points(
    made: go.Figure, names: list[str], links: list[OnLink], label: str, colour: str, symbol: str
) -> None:
    look, hover = Look(colour, "solid", symbol), f"%{{y}}, {label}: %{{x:,.3~r}} ms"
    add_means(made, label, names, [on.jct_s for on in links], 1e3, look, hover, lying=True, bar=1.5)


def _without_steady_state(made: go.Figure, names: list[str], rows: list[NetworkViewRow]) -> None:
    for name, row in zip(names, rows, strict=True):
        links = [link for link, on in (("idle", row.idle), ("loaded", row.loaded)) if on.lost]
        if links:
            made.add_annotation(
                x=1,
                xref="paper",
                xanchor="right",
                y=name,
                text=f"{' and '.join(links)}: no steady state",
                showarrow=False,
                font={"color": BAD},
            )
