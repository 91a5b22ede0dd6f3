"""The study of network views as rows: the remarks on other systems, checked, and every scheduler."""

from __future__ import annotations

from collections.abc import Mapping

from nona.report.means import mean_text
from nona.report.text import share_text
from nona.results.studies.network_views import NetworkViewRow, NetworkViewsStudy, OnLink
from nona.schedulers.network_remarks import known_remarks
from nona.schedulers.registry import SCHEDULERS
from nona.units import format_time

NOT_RUN = "not in this run"
SOURCE = "its source says"  # of a remark: a column of long texts


def rows_of(data: NetworkViewsStudy) -> Mapping[str, NetworkViewRow]:
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
    found = rows_of(data)
    return [
        {
            "system": r.system,
            "the slides say": r.slides,
            "the remark is": r.verdict,
            "view here": SCHEDULERS[r.scheduler].network_view.name,
            **_figures(found.get(r.scheduler)),
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
            "to local, idle": mean_text(row.idle.to_local, "{:.3g}".format),
            "to local, loaded": mean_text(row.loaded.to_local, "{:.3g}".format),
            "link busy, idle": share_text(row.idle.link),
            "link busy, loaded": share_text(row.loaded.link),
        }
        for row in by_slowdown(data)
    ]


def by_slowdown(data: NetworkViewsStudy) -> list[NetworkViewRow]:
    """The rows, those without a steady state first, then by slowdown, largest first."""
    return sorted(rows_of(data).values(), key=_slowness, reverse=True)


def _slowness(row: NetworkViewRow) -> tuple[bool, bool, float]:
    over = "overloaded"
    return row.idle.state == over, row.loaded.state == over, row.slowdown.mean or 0.0


def _figures(row: NetworkViewRow | None) -> dict[str, str]:
    heads = ("JCT, idle link", "JCT, loaded link", "loaded / idle")
    if row is None:
        return dict.fromkeys(heads, NOT_RUN)
    slowdown = mean_text(row.slowdown, "{:.3g}".format) if row.sends else "no tensor"
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
