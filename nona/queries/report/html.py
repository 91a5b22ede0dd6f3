"""A simulation as one HTML file, with the header and scenario that all reports have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nona.core.document import ModelFacts
from nona.core.figures import dots_figure
from nona.core.html.pieces import (
    CHECKS,
    Parts,
    ReportPart,
    bullets,
    chart,
    document,
    facts,
    paragraph,
    report_header,
    scenario_section,
    section,
    table,
)
from nona.core.tables import KEPT, SHARE, Column, FilledTable, Table, percent_text, time_text
from nona.core.units import format_time
from nona.models.times_report import hardware_notes, model_warnings
from nona.queries.chart_data import SimulationOutcome
from nona.queries.placement.results import (
    PlacedConfiguration,
    PlacementOutcome,
    PlacementReport,
    PredictedLink,
)
from nona.queries.report import tables
from nona.queries.report.advice import scheduler_advice
from nona.queries.report.figures import (
    ecdf_figure,
    hit_dots,
    hits_over_time_figure,
    jct_dots,
    parts_figure,
    utilisation_figure,
    warmup_figure,
)
from nona.queries.report.findings import headline, unsettled_text
from nona.queries.report.placement import comparison, layouts
from nona.queries.report.placement import tables as placement_tables
from nona.queries.report.placement import text as placement_text
from nona.queries.report.placement.figures import comparison_figure, jct_split_figure
from nona.queries.report.times_off import off_lines, off_text
from nona.queries.results import SchedulerResult, Schedulers, SimulationReport
from nona.scenario.words import words

_MOST_SUBGRAPHS, _MOST_CONFIGURATIONS, _LONGEST = 24, 4, 160


def placement_section(
    report: PlacementReport | None, beside: PlacementOutcome | None = None
) -> ReportPart | None:
    """Return simulated times, formula and configurations; with ``local`` and ``spread`` of ``beside``."""
    if report is None:
        return None
    p = report.predicted
    entries = {
        **({"SLO hits": comparison.hits_within_text(report)} if comparison.is_slo(report) else {}),
        "Mean JCT": f"{time_text(comparison.mean_of(report))}, {comparison.interval_text(report)}",
        "Where": placement_text.verdict(report, beside.local if beside else None),
        "If task times are wrong": off_text(beside.if_times_off) if beside and beside.if_times_off else "",
        **({"Against": comparison.comparison_finding(beside).removeprefix("nona: ")} if beside else {}),
        "Search": comparison.lead_text(report),
        "Formula": comparison.formula_text(report),
        "Found in": format_time(report.seconds),
        "Link": f"{percent_text(p.network_utilization)} busy, mean wait {time_text(p.network_wait_s)}",
        "Executors": f"load {percent_text(p.compute_utilization)}, mean wait {time_text(p.server_wait_s)}",
    }
    rows, others = _configurations(report)
    return section(
        "Placement",
        _early(beside),
        facts({name: line for name, line in entries.items() if line}),
        *(paragraph(note, "quiet") for note in placement_text.plain_notes(report.notes)),
        _comparison_part(beside) if beside else None,
        _made_of(report),
        table(placement_tables.comparison(beside), "The placement against local and spread")
        if beside
        else None,
        table(placement_tables.times(report), "Simulated response times of each model, 95 % intervals"),
        *_layouts(report),
        paragraph(report.warning or "", "quiet"),
        *_links(p.links),
        *_servers(report),
        table(rows, "Sub-graphs that are split with some probability", ("sub-graph", "parts")),
        paragraph(others, "quiet"),
    )


def _early(data: PlacementOutcome | None) -> ReportPart | None:
    after_s = data.ended_early_s if data else None
    return None if after_s is None else paragraph(placement_text.early_text(after_s), "bad")


def _comparison_part(data: PlacementOutcome) -> ReportPart | None:
    what = "SLO hits" if comparison.is_slo(data.nona) else "mean JCT"
    alt = f"Simulated {what} of nona, local and spread"
    return chart(comparison.order_finding(data), comparison_figure(data), alt)


def _made_of(report: PlacementReport) -> ReportPart | None:
    models = placement_text.parts_of(report)
    if not models:
        return None
    alt = "Mean JCT of each model by its parts"
    return chart(placement_text.split_finding(models), jct_split_figure(models), alt)


def _servers(report: PlacementReport) -> list[ReportPart | None]:
    return [
        paragraph(f"{placement_text.servers_finding(report)}. {placement_text.memory_finding(report)}."),
        table(placement_tables.classes(report), "Executor classes with their load, wait and memory"),
        paragraph(placement_text.LOAD, "quiet"),
        table(placement_tables.class_shares(report), "Probability of each executor class, model by model"),
    ]


def _links(links: Sequence[PredictedLink]) -> list[ReportPart | None]:
    if len(links) < 2:
        return []
    return [
        paragraph(placement_text.link_finding(links)),
        table(placement_tables.LINKS.fill(links), "Predicted waits at the links of each role"),
    ]


class _Split(NamedTuple):
    model: str
    subgraph: str
    configuration: PlacedConfiguration


_SPLIT = Table[_Split](
    "",
    (
        Column("model", lambda r: r.model),
        Column("sub-graph", lambda r: r.subgraph),
        Column("probability", lambda r: r.configuration.probability, SHARE),
        Column("parts", lambda r: _parts(r.configuration)),
    ),
)


def _configurations(report: PlacementReport) -> tuple[FilledTable, str]:
    rows: list[_Split] = []
    whole = split = left_out = 0
    for name, model in report.models.items():
        for subgraph in model.subgraphs:
            by_probability = sorted(subgraph.configurations, key=lambda c: -c.probability)
            if not subgraph.has_interior:
                continue
            if all(c.is_local for c in by_probability if c.probability >= placement_text.LEAST):
                whole += 1
                continue
            split += 1
            used = [c for c in by_probability if c.probability >= placement_text.LEAST]
            shown = used[:_MOST_CONFIGURATIONS] if split <= _MOST_SUBGRAPHS else []
            left_out += len(used) - len(shown)
            rows += [_Split(name, _cut(subgraph.title, 90), c) for c in shown]
    return _SPLIT.fill(rows), _others(whole, left_out)


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
    return _cut(" | ".join(texts), _LONGEST) or "–"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


MOST_CHARTS = 8


def _results_section(data: SimulationOutcome) -> ReportPart | None:
    schedulers = data.report.schedulers
    reasons = [f"{n}: {s.state_reason}" for n, s in schedulers.items() if s.state_reason]
    alt = "Mean response time of each scheduler with its interval"
    picture = dots_figure(jct_dots(schedulers), "mean JCT, ms")
    return section(
        "Results",
        table(
            tables.figures(schedulers, data.predicted).select(*tables.RESULTS),
            "All schedulers on the same jobs, 95 % intervals",
        ),
        bullets(reasons, "bad"),
        bullets(tables.withheld_lines(schedulers)),
        chart("Mean response time", picture, alt, "Whiskers: 95 % confidence interval."),
    )


def _difference_section(data: SimulationOutcome) -> ReportPart | None:
    if len(data.differences) < 2:
        return None
    baseline = next(iter(data.differences))
    rows = tables.DIFFERENCES.fill(data.differences[baseline])
    note = "“Pairing saves” says how many times as many unpaired replications the same interval would need."
    return section(
        "Paired differences",
        table(rows, f"Each scheduler minus {baseline}, on the same jobs, 95 % intervals"),
        paragraph(note, "quiet"),
    )


def _distribution_section(data: SimulationOutcome) -> ReportPart | None:
    models = list(data.slo_s)
    shown = models[:MOST_CHARTS]
    charts = [_distribution(data, model) for model in shown]
    rest = (
        f"{len(models) - len(shown)} more models are not drawn; the job table contains them."
        if len(models) > len(shown)
        else ""
    )
    return section("Distribution of response times", *charts, paragraph(rest, "quiet"))


def _distribution(data: SimulationOutcome, model: str) -> ReportPart | None:
    states = {name: s.state for name, s in data.report.schedulers.items()}
    figure, slo_s = ecdf_figure(data.ecdf, model, data.slo_s, states), data.slo_s[model]
    alt = f"Distribution of the response times of {model} jobs, one curve per scheduler"
    note = f"Dashed: the SLO, {format_time(slo_s)}." if slo_s else ""
    return chart(model, figure, alt, note)


def _windows_section(data: SimulationOutcome) -> ReportPart | None:
    """SLO hits of the jobs that arrived in each window; nothing where no job has an SLO."""
    hits = data.report.slo_over_time
    if all(w.hit_rate is None for windows in hits.values() for w in windows):
        return None
    alt = "Share of the SLOs kept in each window of arrivals, one line per scheduler"
    picture = chart("SLO hits over time", hits_over_time_figure(hits), alt)
    return section("SLO hits over time", picture)


def _warmup_section(data: SimulationOutcome) -> ReportPart | None:
    report, series = data.report, data.warmup
    sentences = [*tables.warmup_lines(report.warmup), *tables.precision_lines(report.precision)]
    if report.warmup:
        jobs, rule = report.warmup.jobs, report.warmup.rule
        sentences.insert(0, f"{jobs:,} jobs were discarded at the start of every run (rule: {rule}).")
    picture = None
    if series:
        alt = "Moving average of the response time from the start of the pilot runs"
        picture = chart("Start-up of the pilot runs", warmup_figure(series), alt)
    return section("Warm-up and precision", bullets(sentences), picture)


def _checks_section(report: SimulationReport) -> ReportPart | None:
    shown = table(CHECKS.fill(report.checks), "In every run of every scheduler")
    return section("Self-checks of the runs", shown, bullets(report.failed_checks, "bad"))


def _slo_section(data: SimulationOutcome) -> ReportPart | None:
    schedulers = data.report.schedulers
    if all(s.slo_hit_rate.mean is None for s in schedulers.values()):
        return None
    title = "Share of the arrived jobs that were completed within their SLO"
    picture = dots_figure(hit_dots(schedulers), "SLO hits, %", most=100.0)
    return section(
        "SLO hits",
        chart(title, picture, "SLO hit rate of each scheduler with its interval"),
        table(_hits_by_model(schedulers), "SLO hit rate by model") if len(data.slo_s) > 1 else None,
    )


def _hits_by_model(schedulers: Schedulers) -> FilledTable:
    def column_of(model: str) -> Column[SchedulerResult]:
        return Column(model, lambda s: s.models[model].slo_hit_rate, KEPT)

    return Table("scheduler", tuple(map(column_of, next(iter(schedulers.values())).models))).fill(schedulers)


def _parts_section(data: SimulationOutcome) -> ReportPart | None:
    schedulers = data.report.schedulers
    alt = "Mean response time of each scheduler by parts"
    return section(
        "Parts of the response time",
        chart("Parts of the mean JCT", parts_figure(schedulers), alt),
        table(
            tables.figures(schedulers).select("scheduler", *tables.PARTS),
            "Mean parts; they add up to the mean JCT",
        ),
    )


def _utilisation_section(data: SimulationOutcome) -> ReportPart | None:
    title = "Share of the time that resources were busy, background included"
    alt = "Utilisation of executors and link under each scheduler"
    return section("Utilisation", chart(title, utilisation_figure(data.report.schedulers), alt))


LIMITS = (
    "Times of operators are modelled unless they are marked as measured or given; their accuracy is "
    "stated above.",
    "An executor serves first come, first served, without preemption. It runs one task at a time unless "
    "batching or instances are set.",
    "Background load is Poisson and independent of the queries. Failures, cold starts and the loading of "
    "weights are not simulated.",
    "Intervals are at 95 % over replications, without correction for multiple comparisons: about one in "
    "twenty excludes 0 by chance.",
    "Predictions assume Poisson arrivals and waits that are independent of one another.",
)


def simulation_html(data: SimulationOutcome, requests: Parts = ()) -> str:
    """Return the report on the outcome of :func:`nona.queries.workflows.outcome.simulation_outcome`.

    ``requests``: sections on requests to language models beside the queries. Equal data give equal bytes; the
    date is among them.
    """
    about, report = data.about, data.report
    said = (
        scheduler_advice(report.schedulers, data.differences),
        *(f"{line[0].upper()}{line[1:]}." for line in off_lines(data.off)),
    )
    wrong = unsettled_text(report.schedulers, data.predicted), *report.failed_checks
    return document(
        f"{about.name}: simulation",
        [
            report_header(about, "Simulation", {"Engine": _engine(report), "Size": _size(data)}),
            bullets([headline(report.schedulers, data.differences, data.off).text, *said], "findings"),
            bullets(wrong, "bad"),
            _results_section(data),
            _difference_section(data),
            _distribution_section(data),
            _slo_section(data),
            _windows_section(data),
            _parts_section(data),
            _utilisation_section(data),
            _warmup_section(data),
            _checks_section(report),
            _provenance_section(data.models),
            placement_section(data.placement),
            *requests,
            section("Limits", bullets(LIMITS)),
            scenario_section(about, "simulate", "--html", "report.html"),
        ],
    )


def _layouts(report: PlacementReport) -> Sequence[ReportPart | None]:
    found = report.layouts
    if found is None:
        return ()
    rows = table(layouts.layout_rows(found), f"Layouts of the stages of {found.row}, the best first")
    return paragraph(layouts.layout_finding(found)), rows, paragraph(layouts.ABOUT, "quiet")


def placement_html(data: PlacementOutcome) -> str:
    """Return the report on a placement's outcome (``placement_outcome``)."""
    about = data.about
    return document(
        f"{about.name}: placement",
        [
            report_header(about, "Placement", {"Objective": words("objective").choices[data.nona.objective]}),
            placement_section(data.nona, data),
            _provenance_section(data.models),
            section("Limits", bullets([LIMITS[0], LIMITS[4]])),
            scenario_section(about, "place", "--html", "placement.html"),
        ],
    )


def _engine(report: SimulationReport) -> str:
    return f"{report.engine}, {format_time(report.seconds)} on the clock"


def _size(data: SimulationOutcome) -> str:
    schedulers = data.report.schedulers
    most = max((s.replications for s in schedulers.values()), default=0)
    return f"{data.about.jobs:,} jobs per run, {most} replications, {len(schedulers)} schedulers"


def _provenance_section(models: Mapping[str, ModelFacts]) -> ReportPart | None:
    sigma: dict[str, float] = {}
    for m in models.values():
        sigma.update(m.sigma)
    lines = [_error(kind, value) for kind, value in sorted(sigma.items())]
    for name, m in models.items():
        lines += hardware_notes({name: m.given}, m.device)
    return section(
        "Where the times come from",
        table(placement_tables.FACTS.fill(models), "Times of the models"),
        bullets(lines),
        bullets(model_warnings(models), "bad"),
    )


def _error(kind: str, sigma: float) -> str:
    if sigma == 0:
        return f"{kind}: taken as the file states them."
    low, high = math.exp(-sigma), math.exp(sigma)
    return (
        f"{kind}: in two of three cases the true time is between {low:.2f} and {high:.2f} times what is "
        f"stated (standard deviation of the logarithm about {sigma:g})."
    )
