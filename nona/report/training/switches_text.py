"""The cost of switches, and checkpoint intervals, as text for a terminal."""

from __future__ import annotations

from nona.report.means import mean_text
from nona.report.text import counted, table
from nona.results.training.checkpoints import CheckpointReport
from nona.results.training.switches import SwitchesReport
from nona.units import format_time


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2f}"


def switches_rows(report: SwitchesReport) -> list[dict[str, str]]:
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
    """Mean JCT under each setting, and what it adds to the mean JCT with all switches off."""
    rows = switches_rows(report)
    failed = [f"failed check: {line}" for line in report.failed_checks]
    return "\n".join(
        [
            f"{report.scenario}: {counted(report.replications, 'replication')}, the same jobs everywhere",
            table(rows, tuple(rows[0])),
            *failed,
        ]
    )


def checkpoint_rows(report: CheckpointReport) -> list[dict[str, str]]:
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
    """Intervals and what they cost."""
    rows = checkpoint_rows(report)
    return "\n".join(
        [
            f"{report.scenario}: a checkpoint takes {format_time(report.checkpoint_s)}, a restart "
            f"{format_time(report.restart_s)}; simulated over {report.replications} × {report.failures:,} "
            "failures, the same for all intervals",
            table(rows, tuple(rows[0])),
        ]
    )
