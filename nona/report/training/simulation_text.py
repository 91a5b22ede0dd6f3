"""What ``nona training simulate`` prints."""

from __future__ import annotations

from collections.abc import Iterator

from nona.report.text import share_text, table, time_text
from nona.report.training.rows import DECIDING, cell_text, policy_rows
from nona.results.training.report import TrainingReport, TrainingSetting

MORE = ("policy", "preemptions", "moves", "received − X", "ideal mean JCT", "decisions", "mean decision")


def simulation_text(report: TrainingReport) -> str:
    """The report as text: policies side by side, then what was run and whether the checks held."""
    return "\n".join(_lines(report))


def _lines(report: TrainingReport) -> Iterator[str]:
    rows = policy_rows(report.policies)
    for columns in (DECIDING, MORE):
        yield table([{c: cell_text(row[c]) for c in columns} for row in rows], columns)
        yield ""
    kept = {n: p.slo_hit_rate for n, p in report.policies.items() if p.slo_hit_rate is not None}
    if kept:
        yield "SLOs kept: " + ", ".join(f"{name} {share_text(rate)}" for name, rate in kept.items()) + "."
    for name, policy in report.policies.items():
        yield from (f"{name}: {warning}" for warning in policy.warnings)
    yield setting_text(report.setting)
    yield from report.setting.notes
    held = sum(report.checks.values())
    yield f"{held} of {len(report.checks)} self-checks held; {time_text(report.seconds)}."
    yield from report.failed_checks


def setting_text(of: TrainingSetting) -> str:
    """What was run, in one sentence."""
    gpus = ", ".join(f"{count} {gpu}" for gpu, count in of.gpus.items())
    first, last = of.measured
    window = "" if last - first + 1 == of.jobs else f", {first} to {last} measured"
    runs = "1 replication" if of.replications == 1 else f"{of.replications} replications"
    return (
        f"{of.name}: {of.jobs} jobs{window} on {gpus}; rounds of {of.round_s:g} s, "
        f"answers at least {of.reallocation_s:g} s apart; {runs}, seed {of.seed}."
    )
