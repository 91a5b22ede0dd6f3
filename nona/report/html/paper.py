"""The paper's evaluation as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.html.parts import bullets, chart, document, header, paragraph, section, table
from nona.report.html.svg_charts import Line, lines
from nona.report.paper.rows import edge_of, growth_rows, point_rows, summary_rows
from nona.report.paper.text import OURS, findings, provenance, title
from nona.report.sweeps.stability import stability_finding
from nona.report.sweeps.text import ratio_text
from nona.report.sweeps.values import axis_scale, value_text
from nona.results.estimate import Estimate
from nona.results.sweep import SweepReport
from nona.units import format_time

Data = Mapping[str, Any]


def paper_html(data: Data) -> str:
    """The report on the data of ``nona study paper``; equal data give equal bytes."""
    return document(
        "The paper's evaluation",
        [
            header(title(data), description=provenance(data)),
            bullets([(line, "") for line in findings(data)], "findings"),
            section("Every scheduler", table(summary_rows(data), "Edges of stability and ratios to nona")),
            *(_sweep(name, report) for name, report in data["sweeps"].items()),
            section("Beyond the edges", _growth(data)),
            section("Every point", table(_points(data), "All simulated points with their intervals")),
            section("Limits", paragraph(OURS)),
        ],
    )


def _sweep(name: str, report: Data) -> Markup:
    """Ratio to nona over the swept number; each curve ends where its scheduler is unstable."""
    factor, unit = axis_scale(report["unit"])
    curves: list[Line] = []
    edges: dict[int, list[str]] = {}
    for scheduler, curve in report["schedulers"].items():
        swept = [p for p in curve["points"] if p["value"] in report["values"]]
        known = [p for p in swept if p["ratio"]["mean"] is not None]
        style = scheduler_style(scheduler)
        if known:
            x, y = [factor * p["value"] for p in known], [p["ratio"]["mean"] for p in known]
            curves.append(Line(scheduler, x, y, style.colour, style.dash))
        if (edge := edge_of(curve)) is not None:
            edges.setdefault(round(factor * edge), []).append(scheduler)
    marks = {", ".join(names): float(place) for place, names in edges.items()}
    finding = stability_finding(SweepReport.from_json(report))
    axis = f"{report['label']}, {unit}"
    picture = lines(curves, axis, f"mean JCT relative to {report['reference']}", finding, marks, steps=False)
    return section(f"Background {name}", chart(finding, picture, "Vertical lines: edges of stability."))


def _growth(data: Data) -> Markup:
    rows = [{k: str(v) for k, v in row.items()} for row in growth_rows(data)]
    return table(rows, "Mean completion time over nona's, by the length of the run")


def _points(data: Data) -> list[dict[str, str]]:
    rows = []
    for p in point_rows(data):
        mean, low, high = p["mean_jct_s"], p["mean_jct_low_s"], p["mean_jct_high_s"]
        half = "" if low is None else f" ± {format_time((high - low) / 2)}"
        ends = None if p["ratio_low"] is None else (p["ratio_low"], p["ratio_high"])
        ratio = Estimate(mean=p["ratio_to_nona"], ci95=ends)
        rows.append(
            {
                "background": p["sweep"],
                "value": value_text(p["value"], data["sweeps"][p["sweep"]]["unit"]),
                "scheduler": p["scheduler"],
                "mean JCT": "overloaded" if mean is None else f"{format_time(mean)}{half}",
                "times nona": ratio_text(ratio),
            }
        )
    return rows
