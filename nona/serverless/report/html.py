"""A serverless run as one HTML file."""

from __future__ import annotations

from nona.core.figures import dots_figure
from nona.core.html.pieces import (
    CHECKS,
    INTERVALS,
    ReportPart,
    bullets,
    chart,
    document,
    paragraph,
    report_header,
    scenario_section,
    section,
    table,
)
from nona.core.text import count_text
from nona.serverless.chart_data import ServerlessOutcome
from nona.serverless.report import text
from nona.serverless.report.figures import COST_AXIS, cost_dots, hit_dots
from nona.serverless.report.findings import PER, dollars, serverless_finding
from nona.serverless.results import ServerlessReport

LIMITS = (
    "Times of functions follow the law or table stated in the scenario; the noise on them is assumed.",
    "Failures, image pulls and the controller's own queueing are not simulated.",
    "Function sequences, gaps between calls, prices and cold starts of the shipped scenarios are "
    "recollected, not confirmed by any source that could be read.",
    INTERVALS,
)


def serverless_html(data: ServerlessOutcome) -> str:
    """Return the report on a serverless run; equal data give equal bytes, the date is among them."""
    about, report = data.about, data.report
    setting = report.setting
    runs = count_text(setting.replications, "run")
    size = f"{setting.calls:,} calls per run, {runs}, {len(report.policies)} policies"
    platform = f"{setting.nodes} nodes, {setting.sharing}, {setting.configurations} configurations"
    return document(
        f"{about.name}: serverless",
        [
            report_header(about, "Serverless", {"Size": size, "Platform": platform}),
            bullets([serverless_finding(report).text], "findings"),
            _results(report),
            section(
                "Applications", table(text.applications(report.policies), "Every application and policy")
            ),
            section("The platform", *_platform(report)),
            _oracle(report),
            _checks(report),
            section("Limits", bullets(LIMITS)),
            scenario_section(about, "serverless", "--html", "report.html"),
        ],
    )


def _results(report: ServerlessReport) -> ReportPart | None:
    hits = dots_figure(hit_dots(report.policies), "SLOs kept, %", most=100.0)
    costs = dots_figure(cost_dots(report.policies), COST_AXIS)
    note = "Whiskers: 95 % confidence interval."
    reasons = [f"{n}: {p.state_reason}" for n, p in report.policies.items() if p.state_reason]
    return section(
        "Policies",
        table(text.CALLS.fill(report.policies), "All policies on the same calls, 95 % intervals"),
        bullets(reasons, "bad"),
        chart("SLOs kept", hits, "Share of SLOs kept under each policy", note),
        chart("Cost", costs, "Cost of calls under each policy", note),
    )


def _platform(report: ServerlessReport) -> list[ReportPart | None]:
    tables = [table(text.PLATFORM.fill(report.policies), "How each policy used it")]
    tables += [table(rows, part.title) for part in text.PARTS if (rows := part.filled(report.policies))]
    return tables


def _oracle(report: ServerlessReport) -> ReportPart | None:
    oracle = report.oracle
    if oracle is None or oracle.cost_per_call_usd is None:
        return None
    least = dollars(oracle.cost_per_call_usd)
    return section("Oracle", paragraph(f"At least {least} per {PER:,} calls, with {oracle.how}."))


def _checks(report: ServerlessReport) -> ReportPart | None:
    shown = table(CHECKS.fill(report.checks), "In every run of every policy")
    return section(
        "Self-checks of the runs", shown, bullets(report.failed_checks, "bad"), bullets(report.setting.notes)
    )
