"""A simulation of language engines as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator

import plotly.graph_objects as go

from nona.core.html.pieces import (
    CHECKS,
    INTERVALS,
    ReportPart,
    bullets,
    chart,
    document,
    report_header,
    scenario_section,
    section,
    table,
)
from nona.core.units import format_time
from nona.language.report.figures import goodput_figure, plane_figure, steps_figure, times_figure
from nona.language.report.tables import (
    HELP,
    MEASURES,
    best_router,
    engines_table,
    followed_lines,
    language_finding,
    off_lines,
    pause_text,
    predicted_lines,
    requests_table,
)
from nona.language.results import LanguageRun

LIMITS = (
    "Step times without fitted constants are modelled; the findings say how their error would change the "
    "result.",
    "Speculative decoding, adapters, experts spread over servers, KV on other tiers and autoscaling are not "
    "simulated.",
    INTERVALS,
)


def language_html(data: LanguageRun) -> str:
    """Return the report on a simulation of language engines.

    Equal data give equal bytes, the date is among them.
    """
    about, report = data.about, data.report
    best = report.schedulers[best_router(report.schedulers)]
    size = (
        f"{about.jobs:,} requests per run, {best.replications} replications, {len(report.schedulers)} routers"
    )
    engine = f"{report.engine}, {format_time(report.seconds)} on the clock"
    return document(
        f"{about.name}: requests to language models",
        [
            report_header(about, "Language models", {"Size": size, "Engine": engine}),
            *request_sections(data),
            section("Limits", bullets(LIMITS)),
            scenario_section(about, "simulate", "--html", "report.html"),
        ],
    )


def request_sections(data: LanguageRun, heading: str = "") -> Iterator[ReportPart | None]:
    """Yield the sections of a report that say what was found; the first one with a heading beside others."""
    report = data.report
    best = report.schedulers[best_router(report.schedulers)]
    lead = language_finding(report).text, "good" if best.state == "stable" else "bad"
    findings: list[str | tuple[str, str]] = [
        lead,
        *followed_lines(report),
        *predicted_lines(best),
        *off_lines(best),
    ]
    first = bullets(findings, "findings"), bullets(report.warnings, "bad")
    yield from (section(heading, *first),) if heading else first
    yield section("Routers", *_routers(data))
    yield from (_row(data, row) for row in data.rows)
    yield section("Steps", *_steps(data))
    engines = (table(engines_table(of), f"Engines under {name}") for name, of in report.schedulers.items())
    yield section("Engines", *engines)
    yield section(
        "Self-checks of the requests" if heading else "Self-checks of the runs",
        table(CHECKS.fill(report.checks), "In every run of every router"),
        bullets(report.failed_checks, "bad"),
    )


def _routers(data: LanguageRun) -> Iterator[ReportPart | None]:
    routers = data.report.schedulers
    rows = requests_table(routers)
    yield table(rows.select(*rows.deciding), "Each row of requests under each router, 95 % intervals")
    yield bullets((f"{n}: {r.state_reason}" for n, r in routers.items() if r.state_reason), "bad")
    if any(of.goodput.mean is not None for of in routers.values()):
        yield _dots("Goodput of all rows", goodput_figure(routers))


def _steps(data: LanguageRun) -> Iterator[ReportPart | None]:
    """Yield the chart of each router's steps where these were kept, with the longest pause among them."""
    for name, steps in data.steps.items():
        if steps:
            pause, engines = data.pauses.get(name), list(data.report.schedulers[name].engines)
            yield chart(
                f"Steps of the engines under {name}",
                steps_figure(steps, engines, pause, data.rows),
                "A cell for each step, steps with prompts in another colour, the longest pause marked",
                "" if pause is None else pause_text(pause, data.rows),
            )


def _row(data: LanguageRun, row: str) -> ReportPart | None:
    routers = data.report.schedulers
    targets = next(iter(routers.values())).models[row].targets
    times = ("ttft_s", "tpot_s", "e2e_s")
    return section(
        f"Requests of {row}",
        *(_dots(MEASURES[time], times_figure(routers, row, time), HELP[time]) for time in times),
        chart(
            "The first token, and those that follow",
            plane_figure(data.requests, data.rows.index(row), targets),
            f"Times of requests of {row} to the first and per further token, by router",
            "A sample of the first run's requests. Requests below and left of the targets are in time.",
        ),
    )


def _dots(title: str, figure: go.Figure, note: str = "") -> ReportPart | None:
    whiskers = "Whiskers: 95 % confidence interval."
    return chart(title, figure, f"{title} by router", f"{note} {whiskers}".strip())
