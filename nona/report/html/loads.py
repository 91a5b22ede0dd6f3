"""SLO hits, parts of the JCT and utilisation in a simulation's HTML report."""

from __future__ import annotations

from markupsafe import Markup

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.html.parts import chart, section, table
from nona.report.html.simulation import STYLE
from nona.report.html.svg_charts import Bar, bars, span, stacked_bars
from nona.report.simulations.figures.parts import LABELS
from nona.report.simulations.finding.findings import shortest
from nona.report.simulations.tables.cells import text_rows
from nona.report.simulations.tables.columns import PARTS, columns
from nona.report.simulations.tables.rows import result_rows
from nona.report.text import or_dash, share_text
from nona.results.simulation.outcome import SimulationOutcome
from nona.results.simulation.report import Schedulers


def slo_section(data: SimulationOutcome) -> Markup:
    """SLO hit rates over all models and of each model."""
    found = data.report.schedulers
    if all(s.slo_hit_rate.mean is None for s in found.values()):
        return Markup()
    rows = [
        Bar(
            name,
            None if s.slo_hit_rate.mean is None else 100 * s.slo_hit_rate.mean,
            or_dash(s.slo_hit_rate.mean, STYLE.rate),
            scheduler_style(name).colour,
            span(s.slo_hit_rate.ci95, 100),
        )
        for name, s in found.items()
    ]
    by_model = [
        {
            "scheduler": name,
            **{m: or_dash(r.slo_hit_rate, STYLE.rate) for m, r in s.models.items()},
        }
        for name, s in found.items()
    ]
    picture = bars(rows, "SLO hits, %", "SLO hit rate of each scheduler with its interval", 100.0)
    return section(
        "SLO hits",
        chart("Share of the arrived jobs that were completed within their SLO", picture),
        table(by_model, "SLO hit rate by model") if len(data.slo_s) > 1 else Markup(),
    )


def parts_section(data: SimulationOutcome) -> Markup:
    """Parts of the completion times."""
    found = data.report.schedulers
    values = {n: [1e3 * v for v in s.parts_s.by_name().values() if v is not None] for n, s in found.items()}
    rows = text_rows(result_rows(found), columns("scheduler", *PARTS), STYLE)
    picture = stacked_bars(
        list(values.items()),
        [(label, colour) for _, label, colour in LABELS],
        "mean JCT, ms",
        "Mean completion time of each scheduler by parts",
    )
    return section(
        "Parts of the completion time",
        chart(_parts_title(found), picture),
        table(rows, "Mean parts; they add up to the mean JCT"),
    )


def _parts_title(found: Schedulers) -> str:
    best = shortest(found)
    parts = {k: v for k, v in found[best].parts_s.by_name().items() if v} if best else {}
    whole = sum(parts.values())
    if not whole:
        return "No scheduler has a steady state"
    most = max(parts, key=lambda k: parts[k])
    return f"{best}: {share_text(parts[most] / whole)} of the time is {PARTS[most]}"


def utilisation_section(data: SimulationOutcome) -> Markup:
    """Utilisation of executors and links."""
    found = data.report.schedulers
    rows = []
    for name, s in found.items():
        colour = scheduler_style(name).colour
        for share, what in ((s.utilization.compute, "executors"), (s.utilization.network, "link")):
            told = or_dash(share, STYLE.share)
            rows.append(Bar(f"{name}, {what}", None if share is None else 100 * share, told, colour))
    picture = bars(rows, "busy, %", "Utilisation of executors and link under each scheduler", 100.0)
    return section(
        "Utilisation", chart("Share of the time that resources were busy, background included", picture)
    )
