"""The section on a placement in an HTML report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from nona.report.figures import Dot, dots_figure
from nona.report.html.charts import chart
from nona.report.html.pieces import facts, paragraph, section, table
from nona.report.placements import certificate
from nona.report.placements import text as placement_text
from nona.report.placements.report import missed_finding
from nona.report.placements.tables import LINKS, MODELS, class_shares, classes
from nona.report.times import off_text
from nona.results.placement import PlacedConfiguration, PlacementOutcome, PlacementReport, PredictedLink
from nona.tables import RATE, Column, Filled, Table, or_dash, percent_text, time_text
from nona.units import format_time

MOST_SUBGRAPHS, MOST_CONFIGURATIONS, LONGEST, LEAST = 24, 4, 160, 5e-4


def placement_section(report: PlacementReport | None, beside: PlacementOutcome | None = None) -> Markup:
    """Objective, certificate, prediction and configurations; with ``local`` and ``spread`` of ``beside``."""
    if report is None:
        return Markup()
    p = report.predicted
    entries = {
        **({"Predicted SLO hits": certificate.hits_text(report)} if certificate.is_slo(report) else {}),
        "Predicted mean JCT": f"{time_text(certificate.mean_of(report))}, {certificate.measure_text(report)}",
        "If times are off": off_text(beside.if_times_off) if beside and beside.if_times_off else "",
        "Certified": f"{certificate.bound_text(report)}; gap: {certificate.gap_text(report)}",
        **({"Against": certificate.comparison_finding(beside).removeprefix("nona: ")} if beside else {}),
        "Origin": certificate.origin_text(report),
        "Solver": f"{report.solver}, {format_time(report.seconds)}",
        "Link": f"{percent_text(p.network_utilization)} busy, mean wait {time_text(p.network_wait_s)}",
        "Executors": f"{percent_text(p.compute_utilization)} busy, mean wait {time_text(p.server_wait_s)}",
    }
    rows, others = _configurations(report)
    return section(
        "Placement",
        _early(beside),
        facts({name: line for name, line in entries.items() if line}),
        *(paragraph(line) for line in (missed_finding(report), certificate.formula_line(report)) if line),
        *(paragraph(note, "quiet") for note in report.notes),
        _beside(report, beside) if beside else Markup(),
        table(MODELS.of(report.models), "Mean JCT of each model by formula, with its parts"),
        _links(p.links),
        _servers(report),
        table(rows, "Sub-graphs that are split with some probability", ("sub-graph", "parts")),
        paragraph(others, "quiet"),
    )


def _early(data: PlacementOutcome | None) -> Markup:
    after_s = data.ended_early_s if data else None
    return Markup() if after_s is None else paragraph(placement_text.early_text(after_s), "bad")


def _beside(report: PlacementReport, data: PlacementOutcome) -> Markup:
    rows = []
    for name, other in (("nona", report), ("local", data.local), ("spread", data.spread)):
        jct = None if other is None else certificate.mean_of(other)
        label = or_dash(jct, format_time) if jct is not None else "overloaded"
        rows.append(Dot(name, None if jct is None else 1e3 * jct, None, label))
    alt = "Predicted mean completion times of the solved placement, local and spread"
    title = "Predicted mean completion time compared with local and spread"
    return chart(title, dots_figure(rows, "mean JCT, ms"), alt)


def _servers(report: PlacementReport) -> Markup:
    return (
        paragraph(f"{placement_text.servers_finding(report)}. {placement_text.memory_finding(report)}.")
        + table(classes(report), "Executor classes with their load, wait and memory")
        + table(class_shares(report), "Probability of each executor class, model by model")
    )


def _links(links: Sequence[PredictedLink]) -> Markup:
    if len(links) < 2:
        return Markup()
    return paragraph(placement_text.link_finding(links)) + table(
        LINKS.of(links), "Predicted waits at the links of each role"
    )


class _Split(NamedTuple):
    model: str
    subgraph: str
    configuration: PlacedConfiguration


SPLIT = Table[_Split](
    "",
    (
        Column("model", lambda r: r.model),
        Column("sub-graph", lambda r: r.subgraph),
        Column("probability", lambda r: r.configuration.probability, RATE),
        Column("parts", lambda r: _parts(r.configuration)),
    ),
)


def _configurations(report: PlacementReport) -> tuple[Filled, str]:
    rows: list[_Split] = []
    whole = split = left_out = 0
    for name, model in report.models.items():
        for subgraph in model.subgraphs:
            by_probability = sorted(subgraph.configurations, key=lambda c: -c.probability)
            if not subgraph.has_interior:
                continue
            if all(c.is_local for c in by_probability if c.probability >= LEAST):
                whole += 1
                continue
            split += 1
            used = [c for c in by_probability if c.probability >= LEAST]
            shown = used[:MOST_CONFIGURATIONS] if split <= MOST_SUBGRAPHS else []
            left_out += len(used) - len(shown)
            rows += [_Split(name, _cut(subgraph.title, 90), c) for c in shown]
    return SPLIT.of(rows), _others(whole, left_out)


def _others(whole: int, left_out: int) -> str:
    sentences = []
    if whole:
        sentences.append(f"{whole} sub-graphs that could be split always run on one server.")
    if left_out:
        sentences.append(f"{left_out} further configurations are listed in the JSON file.")
    return " ".join(sentences)


def _parts(configuration: PlacedConfiguration) -> str:
    texts = []
    ends = (("root", configuration.root_part), ("sink", configuration.sink_part))
    for i, part in enumerate(configuration.parts):
        where = [end for end, index in ends if index == i]
        texts.append("{" + ", ".join(part) + "}" + (f" with the {' and '.join(where)}" if where else ""))
    return _cut(" | ".join(texts), LONGEST) or "–"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
