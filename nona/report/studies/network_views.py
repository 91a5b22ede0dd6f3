"""The study of network views: rows and findings on the idle and the loaded link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nona.report.text import listed, verb
from nona.results.studies import NetworkViewRow, NetworkViewsStudy, OnLink
from nona.schedulers.network_remarks import known_remarks
from nona.schedulers.registry import SCHEDULERS
from nona.tables.formats import mean_text, share_text
from nona.tables.table import text_table
from nona.units import format_number, format_time

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


def remark_rows(data: NetworkViewsStudy) -> list[dict[str, str]]:
    """One row for each system that the slides remark on and whose scheduler is registered."""
    by_scheduler = _rows_of(data)
    return [
        {
            "system": r.system,
            "the slides say": r.slides,
            "the remark is": r.verdict,
            "view here": SCHEDULERS[r.scheduler].network_view.name,
            **_figures(by_scheduler.get(r.scheduler)),
            SOURCE: f"{r.source} ({r.evidence})",
        }
        for r in known_remarks()
    ]


def scheduler_rows(data: NetworkViewsStudy) -> list[dict[str, str]]:
    """One row for each scheduler, the one that the loaded link slows most first."""
    return [
        {
            "scheduler": row.scheduler,
            "view": f"{row.view}, and the mean background" if row.planned else row.view,
            **_figures(row),
            "to local, idle": mean_text(row.idle.to_local, format_number),
            "to local, loaded": mean_text(row.loaded.to_local, format_number),
            "link busy, idle": share_text(row.idle.link),
            "link busy, loaded": share_text(row.loaded.link),
        }
        for row in by_slowdown(data)
    ]


def by_slowdown(data: NetworkViewsStudy) -> list[NetworkViewRow]:
    """The rows, those without a steady state first, then by slowdown, largest first."""
    return sorted(_rows_of(data).values(), key=_slowness, reverse=True)


def _slowness(row: NetworkViewRow) -> tuple[bool, bool, float]:
    over = "overloaded"
    return row.idle.state == over, row.loaded.state == over, row.slowdown.mean or 0.0


def _figures(row: NetworkViewRow | None) -> dict[str, str]:
    heads = ("JCT, idle link", "JCT, loaded link", "loaded / idle")
    if row is None:
        return dict.fromkeys(heads, NOT_RUN)
    slowdown = mean_text(row.slowdown, format_number) if row.sends else "no tensor"
    shown = (_jct(row.idle), _jct(row.loaded), slowdown)
    return dict(zip(heads, shown, strict=True))


def _jct(on: OnLink) -> str:
    return on.state if on.jct_s.mean is None else mean_text(on.jct_s, format_time)


def file_rows(data: NetworkViewsStudy) -> list[dict[str, object]]:
    """One flat row for each scheduler and link, SI units: for CSV files."""
    return [
        {
            "scheduler": row.scheduler,
            "network_view": row.view,
            "link": name,
            "background": background,
            "state": on.state,
            "jct_s": on.jct_s.mean,
            "jct_low_s": on.jct_s.ci95[0] if on.jct_s.ci95 else None,
            "jct_high_s": on.jct_s.ci95[1] if on.jct_s.ci95 else None,
            "to_local": on.to_local.mean,
            "slowdown": row.slowdown.mean,
            "link_utilization": on.link,
        }
        for row in data.rows
        for name, background, on in (
            ("idle", 0.0, row.idle),
            ("loaded", data.about.background, row.loaded),
        )
    ]


LIVE = "N4"


def loses(row: NetworkViewRow) -> bool:
    """Return whether the loaded link surely makes a scheduler slower, or takes its steady state."""
    if row.loaded.state == "overloaded":
        return True
    ends = row.slowdown.ci95
    return ends is not None and ends[0] > 1


def _slowdown_text(row: NetworkViewRow) -> str:
    """A scheduler with how many times as long it takes on the loaded link."""
    if row.loaded.state == "overloaded":
        return f"{row.scheduler} (no steady state)"
    return f"{row.scheduler} ({_times_text(row.slowdown.mean)})"


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
    lines = [_losers(data), _crossed(rows), _live(data), _silent(rows)]
    return [line for line in lines if line]


def scenario_text(data: NetworkViewsStudy) -> str:
    """The scenario in words."""
    a = data.about
    load, background = share_text(a.load), share_text(a.background)
    return (
        f"{a.servers} servers ({a.gpu}), the workflow {a.model} at {load} of the executors, a link of "
        f"{a.capacity}. Both links get the same jobs; on the loaded one messages of others (1 MB on average) "
        f"take {background} of the link."
    )


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
    crossed = [r for r in rows if _beats_local(r) and _worse_than_local(r)]
    names = [r.scheduler for r in crossed]
    if not names:
        return ""
    return f"Faster than local on the idle link, and slower than local on the loaded one: {listed(names)}."


def _beats_local(row: NetworkViewRow) -> bool:
    ends = row.idle.to_local.ci95
    return ends is not None and ends[1] < 1


def _worse_than_local(row: NetworkViewRow) -> bool:
    ends = row.loaded.to_local.ci95
    return row.loaded.state == "overloaded" or (ends is not None and ends[0] > 1)


def _live(data: NetworkViewsStudy) -> str:
    rows = by_slowdown(data)
    clauses = []
    for r in rows:
        idle, loaded = r.idle.jct_s.mean, r.loaded.jct_s.mean
        if r.view == LIVE and r.sends and idle is not None and loaded is not None:
            own = max(r.loaded.link - data.about.background, 0.0)
            clauses.append(
                f"{r.scheduler} takes {format_time(idle)} on the idle link and {format_time(loaded)} on the "
                f"loaded one ({_times_text(r.slowdown.mean)}), where its own tensors take {share_text(own)} "
                f"of the link instead of {share_text(r.idle.link)}"
            )
    if not clauses:
        return ""
    blind = [(r.loaded.jct_s.mean, r.scheduler) for r in rows if r.view != LIVE and r.loaded.jct_s.mean]
    mean_s, name = min(blind, default=(0.0, ""))
    best = f" Of those without that view {name} is fastest there, with {format_time(mean_s)}." if name else ""
    return f"With the live queue in view: {listed(clauses)}.{best}"


def _silent(rows: Iterable[NetworkViewRow]) -> str:
    names = [r.scheduler for r in rows if not r.sends]
    if not names:
        return ""
    text = f"Nothing changes for those that keep queries whole and so send no tensor: {listed(names)}."
    systems = [r.system for r in known_remarks() if r.scheduler in names]
    return text + (f" So the figures do not test the remarks on {listed(systems)}." if systems else "")


def planned_text(data: NetworkViewsStudy) -> str:
    """Describe the input of schedulers with a placement solved before the run; empty without any."""
    rows = [r for r in by_slowdown(data) if r.planned]
    if not rows:
        return ""
    blind, live = ([r.scheduler for r in rows if (r.view == LIVE) is sees] for sees in (False, True))
    text = (
        f"{listed([*blind, *live])} {verb(rows, 'draws', 'draw')} from a placement that was solved before "
        "the run for the capacity of the link and the mean load of its background, without its queue. "
        "No other scheduler is given the background."
    )
    if blind:
        text += f" During the run {listed(blind)} {verb(blind, 'observes', 'observe')} nothing of the link"
        text += f"; {listed(live)} {verb(live, 'sees', 'see')} its live queue." if live else "."
    return text


def provenance(data: NetworkViewsStudy) -> str:
    """The provenance of the numbers in one line."""
    a = data.about
    runs = f"{a.replications} runs of {a.jobs:,} jobs for each scheduler and link"
    return (
        f"{a.command}: version {a.version}, {a.made}, seed {a.seed}, {runs}, {a.seconds:.0f} s. "
        f"Intervals: 95 % over the runs; those of ratios are Fieller's."
    )


def network_views_text(data: NetworkViewsStudy) -> str:
    """Format the output of ``nona study network-views``."""
    sentences = [*findings(data), planned_text(data)]
    lines = [f"{title(data)}.", "", *(f"- {line}" for line in sentences if line)]
    for rows in (remark_rows(data), scheduler_rows(data)):
        lines += ["", text_table(rows, tuple(rows[0]))] if rows else []
    return "\n".join([*lines, "", scenario_text(data), provenance(data)])
