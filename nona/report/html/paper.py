"""The paper's evaluation as one HTML file."""

from __future__ import annotations

from markupsafe import Markup

from nona.report.figures import scheduler_style
from nona.report.html.charts import Line, lines
from nona.report.html.pieces import bullets, chart, document, header, paragraph, section, table
from nona.report.studies.paper import OURS, edge_of, findings, growth, points, provenance, summary, title
from nona.report.sweep_findings import stability_finding
from nona.report.sweeps import axis_scale
from nona.results.studies import PaperStudy
from nona.results.sweeps import SweepReport


def paper_html(data: PaperStudy) -> str:
    """The report on the data of ``nona study paper``; equal data give equal bytes."""
    return document(
        "The paper's evaluation",
        [
            header(title(data), description=provenance(data)),
            bullets([(line, "") for line in findings(data)], "findings"),
            section("Every scheduler", table(summary(data), "Edges of stability and ratios to nona")),
            *(_sweep(name, report) for name, report in data.sweeps.items()),
            section(
                "Beyond the edges",
                table(growth(data), "Mean completion time over nona's, by the length of the run"),
            ),
            section("Every point", table(points(data), "All simulated points with their intervals")),
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
