"""What ``nona training counted`` prints."""

from __future__ import annotations

from nona.report.text import share_text, table, time_text
from nona.results.training.counted import CountedOutcome, CountedReport

COLUMNS = (
    *("schedule", "title", "mean JCT", "authors' mean", "p50", "p95", "makespan", "authors' makespan"),
    *("GPUs in use", "preemptions"),
)


def counted_text(report: CountedReport) -> str:
    """Schedules side by side, then what was run and whether the checks held."""
    rows = [schedule_row(name, outcome) for name, outcome in report.schedules.items()]
    shown = [column for column in COLUMNS if any(row[column] != "–" for row in rows)]
    held, of = sum(report.checks.values()), report.setting
    return "\n".join(
        (
            table(rows, shown),
            "",
            f"{of.jobs} jobs ({of.workload}) on {of.gpus} GPUs, which are only counted; "
            "preemption costs nothing.",
            f"{held} of {len(report.checks)} self-checks held; {time_text(report.seconds)}.",
            *report.failed_checks,
        )
    )


def schedule_row(name: str, outcome: CountedOutcome) -> dict[str, str]:
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
