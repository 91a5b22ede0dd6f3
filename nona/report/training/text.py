"""Printed text of training: allocation, simulation, switches, checkpoints, counted jobs."""

from __future__ import annotations

from collections.abc import Iterator

from nona.report.text import counted
from nona.report.training.tables import DECIDING, cell_text, policy_rows
from nona.results.training import (
    AllocateReport,
    CheckpointReport,
    CountedOutcome,
    CountedReport,
    SwitchesReport,
    TrainingReport,
    TrainingSetting,
)
from nona.tables.formats import mean_text, share_text, time_text
from nona.tables.table import text_table
from nona.units import format_time


def allocation_text(report: AllocateReport) -> str:
    """Format the output of ``nona training allocate``: a line for each row, and the objective."""
    types = list(report.allocation[0].shares)
    rows = [
        {
            "jobs": " + ".join(row.jobs),
            **{t: f"{row.shares[t]:.4f}" for t in types},
            "steps/s": " + ".join(f"{report.throughputs[n]:.6g}" for n in row.jobs),
        }
        for row in report.allocation
    ]
    lines = [
        f"{report.policy}: share of time on each type of GPU",
        text_table(rows, ("jobs", *types, "steps/s")),
    ]
    if report.objective is not None:
        gap = "" if report.gap is None else f" (bound {report.bound:.6g}, gap {report.gap:.1e})"
        lines.append(f"objective {report.objective:.6g}{gap}")
    return "\n".join(lines)


MORE = ("policy", "preemptions", "moves", "received − X", "ideal mean JCT", "decisions", "mean decision")


def simulation_text(report: TrainingReport) -> str:
    """Format the report: policies side by side, then the setting and the verdict of the checks."""
    return "\n".join(_lines(report))


def _lines(report: TrainingReport) -> Iterator[str]:
    rows = policy_rows(report.policies)
    for columns in (DECIDING, MORE):
        yield text_table([{c: cell_text(row[c]) for c in columns} for row in rows], columns)
        yield ""
    kept = {n: p.slo_hit_rate for n, p in report.policies.items() if p.slo_hit_rate is not None}
    if kept:
        yield "SLOs kept: " + ", ".join(f"{name} {share_text(rate)}" for name, rate in kept.items()) + "."
    for name, policy in report.policies.items():
        yield from (f"{name}: {warning}" for warning in policy.warnings)
    yield setting_text(report.setting)
    yield from report.setting.notes
    passed = sum(report.checks.values())
    yield f"{passed} of {len(report.checks)} self-checks held; {time_text(report.seconds)}."
    yield from report.failed_checks


def setting_text(of: TrainingSetting) -> str:
    """State the setting of the run in one sentence."""
    gpus = ", ".join(f"{count} {gpu}" for gpu, count in of.gpus.items())
    first, last = of.measured
    window = "" if last - first + 1 == of.jobs else f", {first} to {last} measured"
    runs = "1 replication" if of.replications == 1 else f"{of.replications} replications"
    return (
        f"{of.name}: {of.jobs} jobs{window} on {gpus}; rounds of {of.round_s:g} s, "
        f"answers at least {of.reallocation_s:g} s apart; {runs}, seed {of.seed}."
    )


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2f}"


def _switches_rows(report: SwitchesReport) -> list[dict[str, str]]:
    """One row per setting and policy; times in hours."""
    return [
        {
            "setting": row.setting,
            "policy": row.policy,
            "mean JCT (h)": mean_text(row.jct_s, _hours),
            "added (h)": mean_text(row.added_s, _hours),
            "moves": f"{row.moves:.0f}",
            "work lost": "–" if row.lost_steps_share is None else f"{row.lost_steps_share:.1%}",
        }
        for row in report.rows
    ]


def switches_text(report: SwitchesReport) -> str:
    """Format the mean JCT under each setting, and its increase over the one with all switches off."""
    rows = _switches_rows(report)
    failed = [f"failed check: {line}" for line in report.failed_checks]
    return "\n".join(
        [
            f"{report.scenario}: {counted(report.replications, 'replication')}, the same jobs everywhere",
            text_table(rows, tuple(rows[0])),
            *failed,
        ]
    )


def _checkpoint_rows(report: CheckpointReport) -> list[dict[str, str]]:
    """One row per number of nodes and way to choose the interval."""
    return [
        {
            "nodes": str(row.nodes),
            "jobs": str(row.jobs),
            "hours between failures": _hours(row.mtbf_s),
            "interval": row.method,
            "minutes between checkpoints": f"{row.interval_s / 60:.1f}",
            "time per work, formula": f"{row.formula:.4f}",
            "simulated": mean_text(row.simulated, "{:.4f}".format),
        }
        for row in report.rows
    ]


def checkpoint_text(report: CheckpointReport) -> str:
    """Format intervals and their costs."""
    rows = _checkpoint_rows(report)
    return "\n".join(
        [
            f"{report.scenario}: a checkpoint takes {format_time(report.checkpoint_s)}, a restart "
            f"{format_time(report.restart_s)}; simulated over {report.replications} × {report.failures:,} "
            "failures, the same for all intervals",
            text_table(rows, tuple(rows[0])),
        ]
    )


COLUMNS = (
    *("schedule", "title", "mean JCT", "authors' mean", "p50", "p95", "makespan", "authors' makespan"),
    *("GPUs in use", "preemptions"),
)


def counted_text(report: CountedReport) -> str:
    """Format the schedules side by side, then the setting and the verdict of the checks."""
    rows = [_schedule_row(name, outcome) for name, outcome in report.schedules.items()]
    shown = [column for column in COLUMNS if any(row[column] != "–" for row in rows)]
    passed, of = sum(report.checks.values()), report.setting
    return "\n".join(
        (
            text_table(rows, shown),
            "",
            f"{of.jobs} jobs ({of.workload}) on {of.gpus} GPUs, which are only counted; "
            "preemption costs nothing.",
            f"{passed} of {len(report.checks)} self-checks held; {time_text(report.seconds)}.",
            *report.failed_checks,
        )
    )


def _schedule_row(name: str, outcome: CountedOutcome) -> dict[str, str]:
    """A schedule's figures as the text of table cells; "–" where there is none."""
    return {
        "schedule": name,
        "title": outcome.title,
        "mean JCT": _seconds(outcome.jct_s.mean),
        "authors' mean": _seconds(outcome.published_jct_s),
        "p50": _seconds(outcome.jct_s.p50),
        "p95": _seconds(outcome.jct_s.p95),
        "makespan": _seconds(outcome.makespan_s),
        "authors' makespan": _seconds(outcome.published_makespan_s),
        "GPUs in use": share_text(outcome.utilization),
        "preemptions": f"{outcome.preemptions:.2f}",
    }


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f} s"
