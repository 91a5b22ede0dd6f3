"""Text of the commands: policies, applications, platform and its use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic

from nona.report.serverless.findings import PER, dollars, pareto_title
from nona.report.tables import Column, R, Table, share
from nona.report.text import or_dash, share_text, table, time_text
from nona.results.serverless import (
    ApplicationOutcome,
    ContainerOutcome,
    MemoryOutcome,
    Oracle,
    Outcome,
    PolicyOutcome,
    SchedulersReport,
    ServerlessReport,
    Setting,
    SharingReport,
    StandingOutcome,
    TransferOutcome,
)
from nona.units import format_time

TRANSFERS = Table[TransferOutcome](
    "policy",
    (
        Column("mean transfer", lambda used: used.mean_s, format_time),
        Column("of it waiting", lambda used: used.wait_s, format_time),
        Column("core", lambda used: used.core_utilization, share),
        Column("busiest link", lambda used: used.busiest_link),
        Column("its use", lambda used: used.busiest_utilization, share),
    ),
)
CONTAINERS = Table[ContainerOutcome](
    "policy",
    (
        Column(f"executing, $ per {PER:,}", lambda of: of.executing_per_call_usd, dollars),
        Column(f"idle, $ per {PER:,}", lambda of: of.idle_per_call_usd, dollars),
        Column("time busy", lambda of: of.busy, share),
        Column("time idle", lambda of: of.idle, share),
        Column("time starting", lambda of: of.starting, share),
    ),
)
MEMORY = Table[MemoryOutcome](
    "policy",
    (
        Column("memory held", lambda of: of.mean, share),
        Column("at most on a node", lambda of: of.most, share),
        Column("evictions a batch", lambda of: of.evictions),
    ),
)
STANDING = Table[StandingOutcome](
    "policy",
    (
        Column("instances", lambda of: of.instances),
        Column("starts", lambda of: of.starts),
        Column("busy", lambda of: of.busy_share, share),
        Column("idle", lambda of: of.idle_share, share),
    ),
)


@dataclass(frozen=True)
class Part(Generic[R]):
    """A table of what only some scenarios model, over the policies that have it."""

    title: str
    table: Table[R]
    of: Callable[[PolicyOutcome], R | None]

    def rows(self, policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
        """Its rows, none where no policy has it."""
        parts = ((name, self.of(policy)) for name, policy in policies.items())
        return self.table.rows({name: part for name, part in parts if part is not None})


PARTS: tuple[Part[Any], ...] = (
    Part("Transfers over the network, which they share", TRANSFERS, lambda p: p.transfers),
    Part(
        "Containers: cost of executing and of waiting, shares of their time",
        CONTAINERS,
        lambda p: p.containers,
    ),
    Part("Memory of nodes, held by containers", MEMORY, lambda p: p.memory),
    Part("Standing instances, and how long they are busy and idle", STANDING, lambda p: p.standing),
)

CALLS = Table[Outcome](
    "policy",
    (
        Column("SLOs kept", lambda p: p.slo_hit_rate, share),
        Column(f"$ per {PER:,} calls", lambda p: p.cost_per_call_usd, dollars),
        Column(f"$ per {PER:,} hits", lambda p: p.cost_per_hit_usd, dollars),
        Column("mean latency", lambda p: p.latency_s.mean, format_time),
        Column("p95", lambda p: p.latency_s.p95, format_time),
        Column("p99", lambda p: p.latency_s.p99, format_time),
        Column("misses", lambda p: p.configuration_miss_rate, share),
        Column("cold starts", lambda p: p.cold_start_rate, share),
        Column("mean batch", lambda p: p.mean_batch),
        Column("state", lambda p: p.state),
    ),
)
PLATFORM = Table[PolicyOutcome](
    "policy",
    (
        Column("mean search", lambda p: p.search_s.mean, format_time),
        Column("search p99", lambda p: p.search_s.p99, format_time),
        Column("steps", lambda p: p.steps_mean),
        Column("local inputs", lambda p: p.locality, share),
        Column("vCPUs held", lambda p: p.utilization.vcpu, share),
        Column("vGPUs held", lambda p: p.utilization.vgpu, share),
        Column("stranded vGPUs", lambda p: p.stranded_vgpus),
        Column("forced", lambda p: p.forced, share),
        Column("rechecks", lambda p: p.rechecks),
        Column("in flight", lambda p: p.calls.in_flight),
        Column("dropped", lambda p: p.calls.dropped),
    ),
)


def application_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """Each application under each policy."""
    return [
        _application_row(application, name, policy.applications[application])
        for application in next(iter(policies.values())).applications
        for name, policy in policies.items()
    ]


def _application_row(application: str, policy: str, row: ApplicationOutcome) -> dict[str, str]:
    return {
        "application": application,
        "policy": policy,
        "SLO": time_text(row.slo_s),
        "kept": or_dash(row.slo_hit_rate, lambda share: share_text(share, 1)),
        "median": time_text(row.latency_s.p50),
        "p95": time_text(row.latency_s.p95),
        f"$ per {PER:,}": dollars(row.cost_per_call_usd),
    }


def serverless_text(report: ServerlessReport) -> str:
    """One simulation: finding, tables, checks."""
    policies = report.policies
    by_application = application_rows(policies)
    lines = [
        pareto_title(policies, report.setting) + ".",
        "",
        CALLS.text(policies),
        "",
        PLATFORM.text(policies),
        "",
        *_use_lines(policies),
        table(by_application, tuple(by_application[0])),
        "",
        *_oracle_lines(report.oracle),
        *(f"{n}: {p.state_reason}" for n, p in policies.items() if p.state_reason),
        f"{_setting(report.setting)}, {report.seconds:.1f} s; intervals at 95 %{_checks(report)}",
    ]
    return "\n".join(lines)


def _use_lines(policies: Mapping[str, PolicyOutcome]) -> Iterator[str]:
    """Tables of what only some scenarios model."""
    for part in PARTS:
        if rows := part.rows(policies):
            yield table(rows, tuple(rows[0]))
            yield ""


def schedulers_text(report: SchedulersReport) -> str:
    """A table of DAG schedulers on serverless workflows."""
    without = ("misses", "cold starts", "mean batch")  # what schedulers of single tasks do not have
    schedulers = replace(CALLS, named="scheduler")
    return schedulers.text(report.schedulers, *schedulers.headings(*without))


def sharing_text(report: SharingReport) -> str:
    """The same workload under several ways of sharing, side by side."""
    rows = [
        {"sharing": mode if first == name else "", "policy": name, **row}
        for mode, mode_report in report.sharing.items()
        for first in [next(iter(mode_report.policies))]
        for name, row in zip(mode_report.policies, CALLS.rows(mode_report.policies), strict=True)
    ]
    columns = ("sharing", *CALLS.headings())
    setting = next(iter(report.sharing.values())).setting
    ways = setting.model_copy(update={"sharing": ", ".join(report.sharing)})
    return "\n".join([table(rows, columns), "", _setting(ways)])


def _oracle_lines(oracle: Oracle | None) -> Iterator[str]:
    if oracle is not None and oracle.cost_per_call_usd is not None:
        yield f"oracle: {dollars(oracle.cost_per_call_usd)} per {PER:,} calls, {oracle.how}"


def _setting(setting: Setting) -> str:
    notes = "".join(f"{note}\n" for note in setting.notes)
    return (
        f"{notes}{setting.replications} runs of {setting.calls:,} calls, seed {setting.seed}, "
        f"{setting.nodes} nodes, {setting.sharing}"
    )


def _checks(report: ServerlessReport) -> str:
    if not report.checks:
        return ""
    verdict = "all passed" if all(report.checks.values()) else "FAILED: " + "; ".join(report.failed_checks)
    return f"; checks: {verdict}"
