"""The sections of a simulation's HTML report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from markupsafe import Markup

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.html.parts import bullets, chart, paragraph, section, table
from nona.report.html.svg_charts import Bar, Line, bars, lines, overloaded, span
from nona.report.simulations.figures.hits_over_time import hits_over_time_title
from nona.report.simulations.finding.findings import shortest
from nona.report.simulations.tables.cells import Style, text_rows
from nona.report.simulations.tables.columns import RESULTS
from nona.report.simulations.tables.rows import result_rows
from nona.report.simulations.text import difference_row, precision_lines, warmup_lines, withheld_lines
from nona.report.text import share_text
from nona.results.simulation.hits import HitWindow
from nona.results.simulation.outcome import SimulationOutcome
from nona.results.simulation.report import Schedulers, SimulationReport
from nona.units import format_time

MOST_CHARTS = 8
STYLE = Style(partial(share_text, digits=2), partial(share_text, digits=1), "{:,}".format)


def results_section(data: SimulationOutcome) -> Markup:
    """The table of results, and a bar chart of the mean completion times."""
    found = data.report.schedulers
    rows = text_rows(result_rows(found, data.predicted), RESULTS, STYLE)
    reasons = [(f"{n}: {s.state_reason}", "bad") for n, s in found.items() if s.state_reason]
    reasons += [(line, "") for line in withheld_lines(found)]
    best = shortest(found)
    title = f"{best} is shortest" if best else "No scheduler has a mean completion time"
    picture = bars(_means(found), "mean JCT, ms", "Mean completion time of each scheduler with its interval")
    return section(
        "Results",
        table(rows, "All schedulers on the same jobs, 95 % intervals"),
        bullets(reasons),
        chart(f"Mean completion time: {title}", picture, "Whiskers: 95 % confidence interval."),
    )


def _means(found: Schedulers) -> list[Bar]:
    rows = []
    for name, s in found.items():
        colour, mean = scheduler_style(name).colour, s.jct_s.mean
        if s.overloaded or mean is None:
            rows.append(Bar(name, None, s.state, colour))
        else:
            rows.append(Bar(name, mean * 1e3, format_time(mean), colour, span(s.jct_s.ci95, 1e3)))
    return rows


def difference_section(data: SimulationOutcome) -> Markup:
    """Paired differences from the first scheduler."""
    if len(data.differences) < 2:
        return Markup()
    baseline = next(iter(data.differences))
    rows = [difference_row(name, d) for name, d in data.differences[baseline].items()]
    note = (
        "Pairing saves: the factor by which unpaired runs would need more replications for the same interval."
    )
    return section(
        "Paired differences",
        table(rows, f"Each scheduler minus {baseline}, on the same jobs, 95 % intervals"),
        paragraph(note, "quiet"),
    )


def distribution_section(data: SimulationOutcome) -> Markup:
    """Distribution of the completion times of each model, with its SLO."""
    models = list(data.slo_s)
    shown = models[:MOST_CHARTS]
    charts = [chart(_distribution_title(data, m), _distribution(data, m)) for m in shown]
    rest = (
        f"{len(models) - len(shown)} more models are not drawn; the job table contains them."
        if len(models) > len(shown)
        else ""
    )
    return section("Distribution of completion times", *charts, paragraph(rest, "quiet"))


def _distribution(data: SimulationOutcome, model: str) -> str:
    found, curves = data.report.schedulers, []
    for name, of in data.ecdf.items():
        style = scheduler_style(name)
        title, dash = overloaded(name, style.dash, found[name].state)
        x = [1e3 * v for v in of[model].x]
        curves.append(Line(title, x, [100 * v for v in of[model].y], style.colour, dash))
    slo = data.slo_s[model]
    limits = {f"SLO {format_time(slo)}": 1e3 * slo} if slo else {}
    alt = f"Distribution of the completion times of {model} jobs, one curve per scheduler"
    return lines(curves, "JCT, ms, log", "jobs completed, %", alt, limits, log=True)


def _distribution_title(data: SimulationOutcome, model: str) -> str:
    rates = {
        n: rate
        for n, s in data.report.schedulers.items()
        if (rate := s.models[model].slo_hit_rate) is not None
    }
    if not rates:
        return f"{model}: no SLO"
    best = [n for n, rate in rates.items() if rate == max(rates.values())]
    if len(best) == len(rates) > 1:
        return f"{model}: every scheduler keeps the SLO for {share_text(rates[best[0]], 2)} of the jobs"
    keep = "keeps" if len(best) == 1 else "keep"
    share = share_text(rates[best[0]], 2)
    return f"{model}: {' and '.join(best)} {keep} the SLO most often, for {share} of the jobs"


def windows_section(data: SimulationOutcome) -> Markup:
    """SLO hits of the jobs that arrived in each window; nothing where no job has an SLO."""
    hits = data.report.slo_over_time
    curves = [
        Line(n, *edges(windows), scheduler_style(n).colour, scheduler_style(n).dash)
        for n, windows in hits.items()
        if any(w.hit_rate is not None for w in windows)
    ]
    if not curves:
        return Markup()
    alt = "Share of the SLOs kept in each window of arrivals, one line per scheduler"
    axis = "arrival, s after the first measured job"
    svg = lines(curves, axis, "SLO hits, %", alt, {}, steps=False)
    return section("SLO hits over time", chart(hits_over_time_title(hits), svg))


def edges(windows: Sequence[HitWindow]) -> tuple[list[float], list[float]]:
    """Both ends of every window with an SLO (s), and its SLO hits at both (%).

    >>> half = HitWindow(start_s=0.0, end_s=2.0, hits=1, jobs=2, hit_rate=0.5)
    >>> edges([half, half.model_copy(update={"start_s": 2.0, "end_s": 4.0, "hit_rate": 1.0})])
    ([0.0, 2.0, 2.0, 4.0], [50.0, 50.0, 100.0, 100.0])
    """
    known = [(w, 100 * w.hit_rate) for w in windows if w.hit_rate is not None]
    ends = [at for w, _ in known for at in (w.start_s, w.end_s)]
    return ends, [rate for _, rate in known for _ in range(2)]


def warmup_section(data: SimulationOutcome) -> Markup:
    """The length of the warm-up, its rule, and whether the precision was reached."""
    report, series = data.report, data.warmup
    told = [*warmup_lines(report.warmup), *precision_lines(report.precision)]
    if report.warmup:
        jobs, rule = report.warmup.jobs, report.warmup.rule
        told.insert(0, f"{jobs:,} jobs were discarded at the start of every run (rule: {rule}).")
    picture = Markup()
    if series:
        curves = [
            Line(n, c.at, [1e3 * v for v in c.jct_s], scheduler_style(n).colour, scheduler_style(n).dash)
            for n, c in series.schedulers.items()
        ]
        cut = {f"cut, {series.jobs:,} jobs": float(series.jobs)}
        alt = "Moving average of the completion time from the start of the pilot runs"
        svg = lines(curves, "jobs since the start", "moving average of the JCT, ms", alt, cut, steps=False)
        picture = chart("Start-up of the pilot runs", svg)
    return section("Warm-up and precision", bullets([(t, "") for t in told]), picture)


def checks_section(report: SimulationReport) -> Markup:
    """Self-checks of the runs."""
    rows = [{"check": n, "result": "passed" if ok else "FAILED"} for n, ok in report.checks.items()]
    failed = [(line, "bad") for line in report.failed_checks]
    return section("Self-checks of the runs", table(rows, "In every run of every scheduler"), bullets(failed))
