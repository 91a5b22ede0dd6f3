"""A run on a training cluster as one HTML file, elastic or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from nona.core.document import About
from nona.core.figures import EstimateDot, dot_of, dots_figure, scheduler_style
from nona.core.html.pieces import (
    CHECKS,
    INTERVALS,
    Parts,
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
from nona.training.elastic.results import ElasticReport
from nona.training.report import findings
from nona.training.report.figures import elastic_style
from nona.training.report.tables import MORE, disturbances, policies, teams
from nona.training.report.text import setting_text
from nona.training.results import TrainingReport

WHISKERS = "Whiskers: 95 % confidence interval."
MEANS = "Mean job completion time under each policy with its interval"
LIMITS = (
    "The source of each job's speed on each type of GPU is stated above; it does not change during a run.",
    "Moves, failures, checkpoints, regions and wrong claims cost nothing unless their switch is on.",
    INTERVALS,
)
ELASTIC_LIMITS = (
    "Step times and statistical efficiency are those of the profiles named above.",
    "A policy decides once a tick; a job whose GPUs change pauses for the stated time. Failures are not "
    "simulated.",
    INTERVALS,
)


def training_html(about: About, report: TrainingReport | ElasticReport, notes: Sequence[str] = ()) -> str:
    """Return the report on a run; equal data give equal bytes, the date is among them."""
    if isinstance(report, ElasticReport):
        return _elastic_html(about, report, notes)
    setting, outcomes = report.setting, report.policies
    warnings = [f"{n}: {line}" for n, p in outcomes.items() for line in p.warnings]
    return _document(
        about,
        "training",
        report,
        {
            "Size": f"{count_text(setting.jobs, 'job')}, {count_text(setting.replications, 'replication')}",
            "GPUs": ", ".join(f"{count} {gpu}" for gpu, count in setting.gpus.items()),
        },
        [bullets(warnings, "bad"), _costs(report)],
        [
            section("Teams", table(teams(outcomes), "Every team in the first replication")),
            section("Disturbances", table(disturbances(outcomes), "Time lost to failures and moves")),
        ],
        [*setting.notes, *notes],
    )


def _elastic_html(about: About, report: ElasticReport, notes: Sequence[str]) -> str:
    setting = report.setting
    runs = max((p.replications for p in report.policies.values()), default=0)
    facts = {
        "Size": f"{count_text(setting.jobs, 'job')}, {count_text(runs, 'replication')}",
        "GPUs": f"{setting.nodes * setting.gpus} on {count_text(setting.nodes, 'node')}",
        "Profiles": setting.profiles,
    }
    return _document(about, "elastic training", report, facts, [], [], notes)


def _document(
    about: About,
    kind: str,
    report: TrainingReport | ElasticReport,
    facts: Mapping[str, str],
    beside: Parts,
    sections: Parts,
    notes: Sequence[str],
) -> str:
    """``beside``: what stands among the figures of policies; ``sections`` follow them."""
    elastic, figures = isinstance(report, ElasticReport), policies(report)
    command = "elastic" if elastic else "simulate"
    finding = findings.training_finding(report)
    return document(
        f"{about.name}: {kind}",
        [
            report_header(about, "Training", facts),
            bullets((finding.lead, finding.beside), "findings"),
            section(
                "Policies",
                table(figures.select(*figures.deciding), "All policies on the same jobs"),
                chart("Mean JCT", _means(report), MEANS, WHISKERS),
                *beside,
                table(figures.select(*MORE), "More figures of them"),
            ),
            *sections,
            section(
                "What was run, and its self-checks",
                *map(paragraph, [setting_text(report.setting), *notes]),
                table(CHECKS.fill(report.checks), "In every run of every policy"),
                bullets(report.failed_checks, "bad"),
            ),
            section("Limits", bullets(ELASTIC_LIMITS if elastic else LIMITS)),
            scenario_section(about, f"training {command}", "--html", "report.html"),
        ],
    )


def _means(report: TrainingReport | ElasticReport) -> go.Figure:
    hours = 1 / findings.HOUR_S
    dots = [
        dot_of(name, p.jct_s.estimate, hours, lambda jct: findings.hours_text(jct.mean))
        for name, p in report.policies.items()
    ]
    look = elastic_style if isinstance(report, ElasticReport) else scheduler_style
    return dots_figure(dots, "mean JCT, h", look=look)


def _costs(report: TrainingReport) -> ReportPart | None:
    costs = {name: p.cost_usd for name, p in report.policies.items()}
    if not any(costs.values()):
        return None
    dots = [EstimateDot(name, usd, None, findings.dollars_text(usd)) for name, usd in costs.items()]
    alt = "Cost of the measured jobs under each policy"
    return chart("Cost", dots_figure(dots, "$ per run"), alt)
