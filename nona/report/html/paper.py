"""The paper's evaluation as one HTML file."""

from __future__ import annotations

from markupsafe import Markup

from nona.report.figures import scheduler_style
from nona.report.html.charts import Line, lines
from nona.report.html.pieces import bullets, chart, document, header, paragraph, section, table
from nona.report.studies.paper import OURS, edge_of, findings, growth_rows, provenance, summary_rows, title
from nona.report.sweep_findings import ratio_text, stability_finding
from nona.report.sweeps import axis_scale, value_text
from nona.results.studies import PaperStudy
from nona.results.sweeps import SweepReport, SweptPoint
from nona.tables.formats import mean_text
from nona.units import format_time


def paper_html(data: PaperStudy) -> str:
    """The report on the data of ``nona study paper``; equal data give equal bytes."""
    return document(
        "The paper's evaluation",
        [
            header(title(data), description=provenance(data)),
            bullets([(line, "") for line in findings(data)], "findings"),
            section("Every scheduler", table(summary_rows(data), "Edges of stability and ratios to nona")),
            *(_sweep(name, report) for name, report in data.sweeps.items()),
            section("Beyond the edges", _growth(data)),
            section("Every point", table(_points(data), "All simulated points with their intervals")),
            section("Limits", paragraph(OURS)),
        ],
    )


def _sweep(name: str, report: SweepReport) -> Markup:
    """Ratio to nona over the swept number; each curve ends where its scheduler is unstable."""
    factor, unit = axis_scale(report.unit)
    curves: list[Line] = []
    edges: dict[int, list[str]] = {}
    for scheduler, curve in report.schedulers.items():
        swept = [(p.value, p.ratio.mean) for p in curve.points if p.value in report.values]
        ratios = [(value, mean) for value, mean in swept if mean is not None]
        style = scheduler_style(scheduler)
        if ratios:
            x, y = [factor * value for value, _ in ratios], [mean for _, mean in ratios]
            curves.append(Line(scheduler, x, y, style.colour, style.dash))
        if (edge := edge_of(curve)) is not None:
            edges.setdefault(round(factor * edge), []).append(scheduler)
    marks = {", ".join(names): float(place) for place, names in edges.items()}
    finding = stability_finding(report)
    axis = f"{report.label}, {unit}"
    picture = lines(curves, axis, f"mean JCT relative to {report.reference}", finding, marks, steps=False)
    return section(f"Background {name}", chart(finding, picture, "Vertical lines: edges of stability."))


def _growth(data: PaperStudy) -> Markup:
    rows = [{k: str(v) for k, v in row.items()} for row in growth_rows(data)]
    return table(rows, "Mean completion time over nona's, by the length of the run")


def _points(data: PaperStudy) -> list[dict[str, str]]:
    return [
        _point(name, report.unit, scheduler, point)
        for name, report in data.sweeps.items()
        for scheduler, curve in report.schedulers.items()
        for point in curve.points
    ]


def _point(sweep: str, unit: str, scheduler: str, point: SweptPoint) -> dict[str, str]:
    return {
        "background": sweep,
        "value": value_text(point.value, unit),
        "scheduler": scheduler,
        "mean JCT": "overloaded" if point.jct_s.mean is None else mean_text(point.jct_s, format_time),
        "times nona": ratio_text(point.ratio),
    }
