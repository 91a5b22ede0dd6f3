"""A plan as one HTML file: the answer, its charts, every option, the evidence."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from nona.report import plan, plan_options
from nona.report.figures import GOOD, PALETTE, QUIET, scheduler_style
from nona.report.html.charts import Line, Point, Shape, lines, points, stacked_bars
from nona.report.html.pieces import bullets, chart, document, facts, paragraph, section, table
from nona.report.html.simulation import report_header, scenario_section
from nona.results.document import Verdict
from nona.results.planning import PlanOption, PlanOutcome, PlanReport, PlanWeek
from nona.tables.formats import per_hour, time_text

SHAPES: Mapping[Verdict, Shape] = {"keeps": "circle", "misses": "cross", "open": "diamond"}
MOST_ROWS = 200
BUDGET = "error budget used"


def plan_html(data: PlanOutcome) -> str:
    """The report on a plan (:func:`nona.study.outcome.plan_outcome`); equal data give equal bytes."""
    about, report = data.about, data.report
    size = f"{len(report.options):,} options, {time_text(report.seconds)} on the clock"
    sure = f"{100 * report.confidence:.4g} % for each verdict"
    finding = plan.plan_finding(report, plan.day_of(about.made))
    others = [text for text in (finding.beside, plan.present_text(report)) if text]
    findings = [(finding.lead, "bad" if finding.bad else "good"), *((text, "") for text in others)]
    return document(
        f"{about.name}: plan",
        [
            report_header(about, "Plan", {"Confidence": sure, "Size": size}),
            bullets(findings, "findings"),
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
                    plan_options.chains(report),
                    "Counts that were ruled out, missed and kept, for each kind of cluster",
                ),
            ),
            scenario_section(about, "plan", "--html", "plan.html"),
        ],
    )


def _answer(report: PlanReport) -> Markup:
    if report.answer is None or report.best is None:
        return Markup()
    pairs = {
        "Servers": plan.servers_text(report.best.servers),
        "Scheduler": report.best.scheduler,
        "Cost": plan.answer_text(report.answer, report.currency),
        "Targets": "; ".join(t.text for t in report.targets),
    }
    return section("Answer", facts(pairs), paragraph(plan.energy_text(report.best)))


def _options(report: PlanReport) -> Markup:
    count = len(report.options) + (report.present is not None)
    shown = plan_options.options(report, range(min(count, MOST_ROWS))).select("option", *plan_options.PRINTED)
    rest = f"{count - MOST_ROWS:,} more expensive options are not shown." if count > MOST_ROWS else ""
    dots = [p for i, o in enumerate(report.options) if (p := _point(report, i, o)) is not None]
    picture = Markup()
    if dots:
        names = ", ".join(dict.fromkeys(o.scheduler for o in report.options if o.shares))
        axis, alt = f"{report.currency} per hour", "Cost and error budget of every simulated option"
        svg = points(dots, axis, BUDGET, alt, list(SHAPES.items()), (1.0, "all that the targets allow"))
        floor = plan.floor_note(plan.tightest(report.targets, o.shares) for o in report.options)
        note = f"The shape is the verdict, the colour the scheduler ({names}). {floor}".rstrip()
        picture = chart("Options by cost and by how much of the error budget they use", svg, note)
    return section("Options", picture, table(shown, "Options in order of cost", ("why",)), paragraph(rest))


def _point(report: PlanReport, index: int, option: PlanOption) -> Point | None:
    budget = plan.tightest(report.targets, option.shares)
    if budget is None:
        return None
    is_answer = report.answer is not None and report.answer.option == index
    name = plan.servers_text(option.servers)
    price = per_hour(option.cost_per_hour, report.currency)
    label = f"{name}, {option.scheduler}: {option.verdict}, {price}"
    return Point(
        option.cost_per_hour,
        max(budget.used, plan.LEAST_USED),
        label,
        SHAPES[option.verdict],
        scheduler_style(option.scheduler).colour,
        "answer" if is_answer else "",
    )


def _traffic(report: PlanReport) -> Markup:
    budgets = [
        (c.factor, b.used) for c in report.curve if (b := plan.tightest(report.targets, c.shares)) is not None
    ]
    if not budgets:
        return Markup()
    line = Line(BUDGET, [x for x, _ in budgets], [min(y, 3.0) for _, y in budgets], PALETTE[0])
    limits = {}
    if report.answer is not None and report.answer.headroom is not None:
        limits = {f"shown up to {plan.headroom_text(report.answer.headroom)}": report.answer.headroom}
    finding = plan.cliff_finding(report)
    svg = lines([line], "traffic, times that of today", BUDGET, finding, limits, steps=False)
    picture = chart(finding, svg, "At 1 the error budget is used up; the curve is cut off above 3.")
    return section(
        "More traffic",
        picture,
        table(plan_options.curve(report), "The answer under more traffic"),
        table(plan_options.targets(report), "How much traffic each target can bear"),
    )


def _costs(report: PlanReport) -> Markup:
    chosen_bills = plan_options.bills(report)
    if not chosen_bills:
        return Markup()
    parts = list(dict.fromkeys(c.part for bill in chosen_bills for c in bill.costs))
    rows = [
        (bill.name, [sum(c.per_hour for c in bill.costs if c.part == part) for part in parts])
        for bill in chosen_bills
    ]
    legend = [(part, PALETTE[i % len(PALETTE)]) for i, part in enumerate(parts)]
    alt = "Cost per hour, by part, of the options that keep the targets"
    svg = stacked_bars(rows, legend, f"cost per hour, {report.currency}", alt)
    notes = [(note, "") for note in report.prices]
    warning = "Prices are as of these dates: check them before you buy." if notes else ""
    return section(
        "Costs", chart("Cost of the options that keep the targets", svg), bullets(notes), paragraph(warning)
    )


def _week(week: PlanWeek | None, currency: str) -> Markup:
    if week is None:
        return Markup()
    hours = [float(h) for h in range(len(week.factors))]
    constant = Line("constant", hours, [float(max(week.servers))] * len(hours), QUIET, "dash")
    by_hour = Line("by hour", hours, [float(n) for n in week.servers], GOOD)
    traffic = Line("traffic", hours, list(week.factors), PALETTE[4])
    axis = "hour of the week, 0 is Monday 0:00"
    upright, alt = f"servers of {week.gpu}; traffic, times that of today", "Traffic and servers by hour"
    svg = lines([traffic, constant, by_hour], axis, upright, alt, {})
    return section("Week", chart(plan.week_text(week, currency), svg))
