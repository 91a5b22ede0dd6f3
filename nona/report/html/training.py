"""A run on a training cluster as one HTML file, elastic or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from nona.report.figures import scheduler_style
from nona.report.html.charts import Bar, bars, span
from nona.report.html.pieces import bullets, chart, document, paragraph, section, table
from nona.report.html.simulation import INTERVALS, report_header, scenario_section
from nona.report.text import counted
from nona.report.training import elastic as elastic_findings
from nona.report.training import tables as rows
from nona.report.training.elastic import policy_rows as elastic_rows
from nona.report.training.elastic import setting_text as elastic_setting
from nona.report.training.findings import HOUR_S, cdf_title, dollars_text, finding, hours_text, rho_title
from nona.report.training.text import MORE, setting_text
from nona.results.document import About
from nona.results.elastic import ElasticReport
from nona.results.training import JctSummary, TrainingReport

WHISKERS = "Whiskers: 95 % confidence interval."
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


def training_html(told: About, report: TrainingReport, notes: Sequence[str] = ()) -> str:
    """The report on a run of Gavel's policies; equal data give equal bytes, the date is among them."""
    setting, policies = report.setting, report.policies
    gpus = ", ".join(f"{count} {gpu}" for gpu, count in setting.gpus.items())
    size = f"{counted(setting.jobs, 'job')}, {counted(setting.replications, 'replication')}"
    policy_rows = rows.policy_rows(policies)
    means = {name: p.jct_s for name, p in policies.items()}
    return document(
        f"{told.name}: training",
        [
            report_header(told, "Training", {"Size": size, "GPUs": gpus}),
            _findings(finding(policies, setting.modelled), cdf_title(policies), rho_title(policies)),
            section(
                "Policies",
                table(_cells(policy_rows, rows.deciding(policies)), "All policies on the same jobs"),
                _warnings({name: p.warnings for name, p in policies.items()}),
                chart("Mean JCT", _means(means), WHISKERS),
                _costs(report),
                table(_cells(policy_rows, MORE), "Preemptions, moves and decisions"),
            ),
            _optional("Teams", rows.team_rows(policies), "Every team in the first replication"),
            _optional("Disturbances", rows.disturbance_rows(policies), "Time lost to failures and moves"),
            _checks(report, [setting_text(setting), *setting.notes, *notes]),
            section("Limits", bullets([(line, "") for line in LIMITS])),
            scenario_section(told, "training simulate", "--html", "report.html"),
        ],
    )


def elastic_html(told: About, report: ElasticReport, notes: Sequence[str] = ()) -> str:
    """The report on a run of elastic jobs; equal data give equal bytes, the date is among them."""
    setting, policies = report.setting, report.policies
    runs = max((p.replications for p in policies.values()), default=0)
    size = f"{counted(setting.jobs, 'job')}, {counted(runs, 'replication')}"
    gpus = f"{setting.nodes * setting.gpus} on {counted(setting.nodes, 'node')}"
    titles = elastic_findings.cdf_title(policies), elastic_findings.rho_title(policies)
    means = {name: p.jct_s for name, p in policies.items()}
    policy_rows = elastic_rows(policies)
    return document(
        f"{told.name}: elastic training",
        [
            report_header(told, "Training", {"Size": size, "GPUs": gpus, "Profiles": setting.profiles}),
            _findings(elastic_findings.finding(policies), *titles),
            section(
                "Policies",
                table(
                    _cells(policy_rows, list(policy_rows[0]) if policy_rows else ()),
                    "All policies on the same jobs",
                ),
                chart("Mean JCT", _means(means), WHISKERS),
            ),
            _checks(report, [elastic_setting(setting), *notes]),
            section("Limits", bullets([(line, "") for line in ELASTIC_LIMITS])),
            scenario_section(told, "training elastic", "--html", "report.html"),
        ],
    )


def _findings(found: tuple[str, str], *titles: str) -> Markup:
    lines = [line for line in (*found, *(f"{title}." for title in titles)) if line]
    return bullets([(line, "") for line in lines], "findings")


def _means(found: Mapping[str, JctSummary]) -> str:
    """Bars of the mean JCTs in hours."""
    shown = [
        Bar(
            name,
            None if jct.mean is None else jct.mean / HOUR_S,
            hours_text(jct.mean),
            scheduler_style(name).colour,
            span(jct.ci95, 1 / HOUR_S),
        )
        for name, jct in found.items()
    ]
    return bars(shown, "mean JCT, h", "Mean job completion time under each policy with its interval")


def _costs(report: TrainingReport) -> Markup:
    """Bars of the bills, where GPUs have prices."""
    costs = {name: p.cost_usd for name, p in report.policies.items()}
    if not any(costs.values()):
        return Markup()
    shown = [Bar(name, usd, dollars_text(usd), scheduler_style(name).colour) for name, usd in costs.items()]
    return chart("Cost", bars(shown, "US dollars per run", "Cost of the measured jobs under each policy"))


def _cells(found: Sequence[Mapping[str, rows.Cell]], columns: Sequence[str]) -> list[dict[str, str]]:
    return [{c: rows.cell_text(row[c]) for c in columns} for row in found]


def _optional(title: str, found: Sequence[Mapping[str, rows.Cell]], caption: str) -> Markup:
    return section(title, table(_cells(found, list(found[0])), caption)) if found else Markup()


def _warnings(found: Mapping[str, Sequence[str]]) -> Markup:
    return bullets([(f"{name}: {line}", "bad") for name, lines in found.items() for line in lines])


def _checks(report: TrainingReport | ElasticReport, notes: Sequence[str]) -> Markup:
    shown = [{"check": n, "result": "passed" if ok else "FAILED"} for n, ok in report.checks.items()]
    return section(
        "What was run, and its self-checks",
        *(paragraph(note) for note in notes),
        table(shown, "In every run of every policy"),
        bullets([(line, "bad") for line in report.failed_checks]),
    )
