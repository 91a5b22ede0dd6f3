"""SLO hits, parts of the JCT and utilisation in a simulation's HTML report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.html.parts import chart, section, table
from nona.report.html.svg_charts import Bar, bars, span, stacked_bars
from nona.report.simulations.figures.parts import LABELS
from nona.report.simulations.findings import shortest
from nona.report.text import or_dash
from nona.units import format_time

Row = Mapping[str, Any]


def slo_section(data: Row) -> Markup:
    """SLO hit rates over all models and of each model."""
    found = data["report"]["schedulers"]
    if all(s["slo_hit_rate"]["mean"] is None for s in found.values()):
        return Markup()
    rows = [
        Bar(
            name,
            None if s["slo_hit_rate"]["mean"] is None else 100 * s["slo_hit_rate"]["mean"],
            or_dash(s["slo_hit_rate"]["mean"], "{:.2%}".format),
            scheduler_style(name).colour,
            span(s["slo_hit_rate"]["ci95"], 100),
        )
        for name, s in found.items()
    ]
    by_model = [
        {
            "scheduler": name,
            **{m: or_dash(r["slo_hit_rate"], "{:.2%}".format) for m, r in s["models"].items()},
        }
        for name, s in found.items()
    ]
    picture = bars(rows, "SLO hits, %", "SLO hit rate of each scheduler with its interval", 100.0)
    return section(
        "SLO hits",
        chart("Share of the arrived jobs that were completed within their SLO", picture),
        table(by_model, "SLO hit rate by model") if len(data["slo_s"]) > 1 else Markup(),
    )


def parts_section(data: Row) -> Markup:
    """Parts of the completion times."""
    found = data["report"]["schedulers"]
    keys = [key for key, _, _ in LABELS]
    values = {
        n: [1e3 * s["parts_s"][k] for k in keys if s["parts_s"][k] is not None] for n, s in found.items()
    }
    rows = [
        {"scheduler": n, **{label: or_dash(s["parts_s"][k], format_time) for k, label, _ in LABELS}}
        for n, s in found.items()
    ]
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


def _parts_title(found: Mapping[str, Row]) -> str:
    best = shortest(found)
    parts = found[best]["parts_s"] if best else {}
    whole = sum(v for v in parts.values() if v)
    if not whole:
        return "No scheduler has a steady state"
    key, label, _ = max(LABELS, key=lambda part: parts[part[0]] or 0.0)
    return f"{best}: {parts[key] / whole:.0%} of the time is {label}"


def utilisation_section(data: Row) -> Markup:
    """Utilisation of executors and links."""
    found = data["report"]["schedulers"]
    rows = []
    for name, s in found.items():
        colour = scheduler_style(name).colour
        for key, what in (("compute", "executors"), ("network", "link")):
            share = s["utilization"][key]
            told = or_dash(share, "{:.1%}".format)
            rows.append(Bar(f"{name}, {what}", None if share is None else 100 * share, told, colour))
    picture = bars(rows, "busy, %", "Utilisation of executors and link under each scheduler", 100.0)
    return section(
        "Utilisation", chart("Share of the time that resources were busy, background included", picture)
    )
