"""Printed text of training: allocation, simulation, switches, checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from nona.core.tables import COUNT, SHARE, Column, NumberKind, Table, share_text, time_text
from nona.core.text import count_text
from nona.core.units import duration, format_time
from nona.training import results as training
from nona.training.elastic.results import ElasticLink, ElasticReport, ElasticSetting
from nona.training.report.tables import HOURS, MORE, policies


class CheckedReport(Protocol):
    """A report with self-checks."""

    @property
    def checks(self) -> Mapping[str, bool]:
        """Whether each check holds."""

    @property
    def failed_checks(self) -> tuple[str, ...]:
        """Checks that failed."""

    @property
    def seconds(self) -> float:
        """Time that the run took."""


FOUR = NumberKind("{:.4f}".format)


def allocation_text(report: training.AllocateReport) -> str:
    """Format the output of ``nona training allocate``: a line for each row, and the objective."""

    def share(gpu: str) -> Column[training.AllocatedRow]:
        return Column(gpu, lambda row: row.shares[gpu], FOUR)

    columns: tuple[Column[training.AllocatedRow], ...] = (
        Column("jobs", lambda row: " + ".join(row.jobs)),
        *map(share, report.allocation[0].shares),
        Column("steps/s", lambda row: " + ".join(f"{report.throughputs[n]:.6g}" for n in row.jobs)),
    )
    lines = [
        f"{report.policy}: share of time on each type of GPU",
        Table("", columns).fill(report.allocation).text(),
    ]
    if report.objective is not None:
        gap = "" if report.gap is None else f" (bound {report.bound:.6g}, gap {report.gap:.1e})"
        lines.append(f"objective {report.objective:.6g}{gap}")
    return "\n".join(lines)


def simulation_text(report: training.TrainingReport | ElasticReport) -> str:
    """Format the report: policies side by side, then the setting and the verdict of the checks."""
    return "\n".join(_lines(report))


def _lines(report: training.TrainingReport | ElasticReport) -> Iterator[str]:
    filled = policies(report)
    for columns in (filled.deciding, MORE):
        yield filled.select(*columns).text()
        yield ""
    if isinstance(report, training.TrainingReport):
        for name, policy in report.policies.items():
            yield from (f"{name}: {warning}" for warning in policy.warnings)
    yield setting_text(report.setting)
    if isinstance(report, training.TrainingReport):
        yield from report.setting.notes
    yield from checks_lines(report)


def checks_lines(report: CheckedReport) -> Iterator[str]:
    """How many self-checks held, how long the runs took, and what failed."""
    passed = sum(report.checks.values())
    yield f"{passed} of {len(report.checks)} self-checks held; {time_text(report.seconds)}."
    yield from report.failed_checks


def setting_text(of: training.TrainingSetting | ElasticSetting) -> str:
    """State the setting of the run in one or two sentences."""
    if isinstance(of, ElasticSetting):
        return _elastic_setting(of)
    gpus = ", ".join(f"{count} {gpu}" for gpu, count in of.gpus.items())
    first, last = of.measured
    window = "" if last - first + 1 == of.jobs else f", {first} to {last} measured"
    return (
        f"{of.name}: {of.jobs} jobs{window} on {gpus}; rounds of {duration(of.round_s)}, allocations "
        f"computed at least {duration(of.reallocation_s)} apart; "
        f"{count_text(of.replications, 'replication')}, seed {of.seed}."
    )


def _elastic_setting(of: ElasticSetting) -> str:
    slowed = (
        f"; jobs on several nodes that share one lose {share_text(of.interference)} of their speed"
        if of.interference
        else ""
    )
    linked = f"; {_link_text(of.link)}" if of.link else ""
    nodes = f"{count_text(of.nodes, 'node')} with {count_text(of.gpus, 'GPU')}"
    return (
        f"Workload {of.workload} at load {of.load:g}: {count_text(of.jobs, 'job')} on {nodes}{linked}; "
        f"ticks of {of.tick_s} s, restarts of {of.restart_s} s{slowed}; seed {of.seed}. "
        f"Profiles: {of.profiles}."
    )


def _link_text(link: ElasticLink) -> str:
    """Return the link in a few words.

    >>> _link_text(ElasticLink(capacity=1.25e9, latency_s=2e-5, discipline="fifo", background=0.5,
    ...     mean_bytes=1e6, scv=1.0))
    'a link of 10 Gbit/s (fifo) with 50 % background'
    """
    return (
        f"a link of {link.capacity * 8e-9:g} Gbit/s ({link.discipline}) with "
        f"{share_text(link.background)} background"
    )


SWITCHES = Table[training.SwitchRow](
    "",
    (
        Column("setting", lambda r: r.setting),
        Column("policy", lambda r: r.policy),
        Column("mean JCT", lambda r: r.jct_s, HOURS, interval=True),
        Column("added", lambda r: r.added_s, HOURS, interval=True),
        Column("moves", lambda r: r.moves),
        Column("work lost", lambda r: r.lost_steps_share, SHARE),
    ),
)


def switches_text(report: training.SwitchesReport) -> str:
    """Format the mean JCT under each setting, and its increase over the one with all switches off."""
    return "\n".join(
        [
            f"{report.scenario}: {count_text(report.replications, 'replication')}, the same jobs everywhere",
            SWITCHES.fill(report.rows).text(),
            *(f"failed check: {line}" for line in report.failed_checks),
        ]
    )


CHECKPOINTS = Table[training.IntervalRow](
    "",
    (
        Column("nodes", lambda r: r.nodes, COUNT),
        Column("jobs", lambda r: r.jobs, COUNT),
        Column("between failures", lambda r: r.mtbf_s, HOURS),
        Column("interval", lambda r: r.method),
        Column("between checkpoints", lambda r: r.interval_s, HOURS),
        Column("time per work, formula", lambda r: r.formula, FOUR),
        Column("simulated", lambda r: r.simulated, FOUR, interval=True),
    ),
)


def checkpoint_text(report: training.CheckpointReport) -> str:
    """Format intervals and their costs."""
    return (
        f"{report.scenario}: a checkpoint takes {format_time(report.checkpoint_s)}, a restart "
        f"{format_time(report.restart_s)}; simulated over {report.replications} × {report.failures:,} "
        f"failures, the same for all intervals\n{CHECKPOINTS.fill(report.rows).text()}"
    )
