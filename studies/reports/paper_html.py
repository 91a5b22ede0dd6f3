"""The paper's evaluation as one HTML file."""

from __future__ import annotations

from markupsafe import Markup

from nona.report.html.charts import chart
from nona.report.html.pieces import bullets, document, header, paragraph, section, table
from nona.report.sweep_figures import sweep_figure
from nona.report.sweep_findings import stability_finding
from nona.results.sweeps import SweepReport
from studies.reports.paper import OURS, findings, growth, points, provenance, summary, title
from studies.results import PaperStudy


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
    finding, view = stability_finding(report), f"Ratio to {report.reference}"
    picture = chart(finding, sweep_figure(report, view), finding, "Crosses: edges of stability.")
    return section(f"Background {name}", picture)
