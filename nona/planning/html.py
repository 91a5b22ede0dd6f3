"""A plan as one HTML file: the answer, its charts, every option, the evidence."""

from __future__ import annotations

from nona.core.html.pieces import (
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
from nona.core.tables import time_text
from nona.planning import report_plan as plan
from nona.planning import report_plan_options as plan_options
from nona.planning.figures import cliff_figure, costs_figure, options_figure, week_figure
from nona.planning.results import PlanOutcome, PlanReport, PlanWeek

MOST_ROWS = 200


def plan_html(data: PlanOutcome) -> str:
    """Return the report on a plan (:func:`nona.queries.workflows.outcome.plan_outcome`).

    Equal data give equal bytes.
    """
    about, report = data.about, data.report
    size = f"{len(report.options):,} options, {time_text(report.seconds)} on the clock"
    sure = f"{100 * report.confidence:.4g} % for each verdict"
    finding = plan.outcome_finding(data)
    lead = finding.lead, "bad" if finding.bad else "good"
    return document(
        f"{about.name}: plan",
        [
            report_header(about, "Plan", {"Confidence": sure, "Size": size}),
            bullets([lead, finding.beside, plan.present_text(report)], "findings"),
            _answer(report),
            _options(report),
            _traffic(report),
            section(
                "Failures",
                table(
                    plan_options.failures(report), "Whether the answer keeps its targets with servers missing"
                ),
            ),
            _costs(report),
            _week(report.week, report.currency),
            section(
                "Evidence",
                paragraph(plan_options.evidence_text(report)),
                table(
                    plan_options.series_table(report),
                    "Server counts ruled out, missed and kept, for each kind of cluster",
                ),
            ),
            scenario_section(about, "plan", "--html", "plan.html"),
        ],
    )


def _answer(report: PlanReport) -> ReportPart | None:
    if report.answer is None or report.best is None:
        return None
    pairs = {
        "Servers": plan.servers_text(report.best.servers),
        "Scheduler": report.best.scheduler,
        "Cost": plan.answer_text(report.answer, report.currency),
        "Targets": "; ".join(t.text for t in report.targets),
    }
    return section("Answer", facts(pairs))


def _options(report: PlanReport) -> ReportPart | None:
    count = len(report.options) + (report.present is not None)
    shown = plan_options.options(report, range(min(count, MOST_ROWS))).select("option", *plan_options.PRINTED)
    rest = f"{count - MOST_ROWS:,} more expensive options are not shown." if count > MOST_ROWS else ""
    picture = None
    if any(o.shares for o in report.options):
        title = "Options by cost and by how much of the error budget they use"
        floor = plan.floor_note(plan.tightest(report.targets, o.shares) for o in report.options)
        note = f"The shape is the verdict, the colour the scheduler. {floor}".rstrip()
        alt = "Cost and error budget of every simulated option"
        picture = chart(title, options_figure(report), alt, note)
    return section("Options", picture, table(shown, "Options in order of cost", ("why",)), paragraph(rest))


def _traffic(report: PlanReport) -> ReportPart | None:
    if not any(load.shares for load in report.curve):
        return None
    finding, note = plan.cliff_finding(report), "At 1 the error budget is used up."
    picture = chart(finding, cliff_figure(report), finding, note)
    return section(
        "More traffic",
        picture,
        table(plan_options.curve(report), "The answer under more traffic"),
        table(plan_options.targets(report), "How much traffic each target can bear"),
    )


def _costs(report: PlanReport) -> ReportPart | None:
    if not plan_options.bills(report):
        return None
    alt = "Cost per hour, by part, of the options that keep the targets"
    picture = chart("Cost of the options that keep the targets", costs_figure(report), alt)
    warning = "Prices are as of these dates: check them before you buy." if report.prices else ""
    return section("Costs", picture, bullets(report.prices), paragraph(warning))


def _week(week: PlanWeek | None, currency: str) -> ReportPart | None:
    if week is None:
        return None
    picture = chart(plan.week_text(week, currency), week_figure(week), "Traffic and servers by hour")
    return section("Week", picture)
