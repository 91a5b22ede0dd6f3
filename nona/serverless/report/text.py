"""Policies, applications, platform and its use, functions: the text of the commands, and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from nona.core.document import number
from nona.core.tables import KEPT, SHARE, TIME, Column, FilledTable, R, Table
from nona.serverless import results as serverless
from nona.serverless.report.findings import PER, USD, dollars, serverless_finding

if TYPE_CHECKING:
    from nona.serverless.functions import Function
    from nona.serverless.system import ServerlessSystem

TRANSFERS = Table[serverless.TransferOutcome](
    "policy",
    (
        Column("mean transfer", lambda used: used.mean_s, TIME),
        Column("of it waiting", lambda used: used.wait_s, TIME),
        Column("core", lambda used: used.core_utilization, SHARE),
        Column("busiest link", lambda used: used.busiest_link),
        Column("its use", lambda used: used.busiest_utilization, SHARE),
    ),
)
CONTAINERS = Table[serverless.ContainerOutcome](
    "policy",
    (
        Column(f"executing, $ per {PER:,}", lambda of: of.executing_per_call_usd, USD, "executing_per_call"),
        Column(f"idle, $ per {PER:,}", lambda of: of.idle_per_call_usd, USD, "idle_per_call"),
        Column("time busy", lambda of: of.busy, SHARE),
        Column("time idle", lambda of: of.idle, SHARE),
        Column("time starting", lambda of: of.starting, SHARE),
    ),
)
MEMORY = Table[serverless.MemoryOutcome](
    "policy",
    (
        Column("memory held", lambda of: of.mean, SHARE),
        Column("at most on a node", lambda of: of.most, SHARE),
        Column("evictions a batch", lambda of: of.evictions),
    ),
)
STANDING = Table[serverless.StandingOutcome](
    "policy",
    (
        Column("instances", lambda of: of.instances),
        Column("starts", lambda of: of.starts),
        Column("busy", lambda of: of.busy_share, SHARE),
        Column("idle", lambda of: of.idle_share, SHARE),
    ),
)


@dataclass(frozen=True)
class PolicyTable(Generic[R]):
    """A table of what only some scenarios model, over the policies that have it."""

    title: str
    table: Table[R]
    part: Callable[[serverless.ServerlessPolicyResult], R | None]

    def filled(self, policies: Mapping[str, serverless.ServerlessPolicyResult]) -> FilledTable:
        """Its rows, none where no policy has it."""
        parts = ((name, self.part(policy)) for name, policy in policies.items())
        return self.table.fill({name: part for name, part in parts if part is not None})


PARTS: tuple[PolicyTable[Any], ...] = (
    PolicyTable("Transfers over the network, which they share", TRANSFERS, lambda p: p.transfers),
    PolicyTable(
        "Containers: cost of executing and of waiting, shares of their time",
        CONTAINERS,
        lambda p: p.containers,
    ),
    PolicyTable("Memory of nodes, held by containers", MEMORY, lambda p: p.memory),
    PolicyTable("Standing instances, and how long they are busy and idle", STANDING, lambda p: p.standing),
)

CALLS = Table[serverless.ServerlessPolicyResult](
    "policy",
    (
        Column("SLOs kept", lambda p: p.slo_hit_rate, KEPT, decides=True),
        Column(f"$ per {PER:,} calls", lambda p: p.cost_per_call_usd, USD, "cost_per_call", decides=True),
        Column(f"$ per {PER:,} hits", lambda p: p.cost_per_hit_usd, USD, "cost_per_hit"),
        Column("mean latency", lambda p: p.latency_s.mean, TIME, decides=True),
        Column("p95", lambda p: p.latency_s.p95, TIME, decides=True),
        Column("p99", lambda p: p.latency_s.p99, TIME),
        Column("misses", lambda p: p.configuration_miss_rate, SHARE),
        Column("cold starts", lambda p: p.cold_start_rate, SHARE, decides=True),
        Column("mean batch", lambda p: p.mean_batch),
        Column("state", lambda p: p.state, decides=True),
    ),
)
PLATFORM = Table[serverless.ServerlessPolicyResult](
    "policy",
    (
        Column("mean search", lambda p: p.search_s.mean, TIME),
        Column("search p99", lambda p: p.search_s.p99, TIME),
        Column("steps", lambda p: p.steps_mean),
        Column("local inputs", lambda p: p.locality, SHARE),
        Column("vCPUs held", lambda p: p.utilization.vcpu, SHARE),
        Column("vGPUs held", lambda p: p.utilization.vgpu, SHARE),
        Column("stranded vGPUs", lambda p: p.stranded_vgpus),
        Column("forced", lambda p: p.forced, SHARE),
        Column("rechecks", lambda p: p.rechecks),
        Column("in flight", lambda p: p.calls.in_flight),
        Column("dropped", lambda p: p.calls.dropped),
    ),
)


POLICIES = Table[serverless.ServerlessPolicyResult]("policy", (*CALLS.columns, *PLATFORM.columns))


class _Served(NamedTuple):
    application: str
    policy: str
    outcome: serverless.ApplicationOutcome


APPLICATIONS = Table[_Served](
    "",
    (
        Column("application", lambda r: r.application),
        Column("policy", lambda r: r.policy),
        Column("SLO", lambda r: r.outcome.slo_s, TIME),
        Column("SLOs kept", lambda r: r.outcome.slo_hit_rate, KEPT),
        Column("mean", lambda r: r.outcome.latency_s.mean, TIME),
        Column("p5", lambda r: r.outcome.latency_s.p5, TIME),
        Column("median", lambda r: r.outcome.latency_s.p50, TIME),
        Column("p95", lambda r: r.outcome.latency_s.p95, TIME),
        Column("p99", lambda r: r.outcome.latency_s.p99, TIME),
        Column(f"$ per {PER:,}", lambda r: r.outcome.cost_per_call_usd, USD, "cost_per_call"),
    ),
)


def applications(policies: Mapping[str, serverless.ServerlessPolicyResult]) -> FilledTable:
    """Each application under each policy."""
    return APPLICATIONS.fill(
        _Served(application, name, policy.applications[application])
        for application in next(iter(policies.values())).applications
        for name, policy in policies.items()
    )


def serverless_text(report: serverless.ServerlessReport) -> str:
    """One simulation: finding, tables, checks."""
    policies = report.policies
    lines = [
        serverless_finding(report).text,
        "",
        CALLS.fill(policies).text(),
        "",
        PLATFORM.fill(policies).text(),
        "",
        *_use_lines(policies),
        applications(policies).text(),
        "",
        *_oracle_lines(report.oracle),
        *(f"{n}: {p.state_reason}" for n, p in policies.items() if p.state_reason),
        f"{_setting(report.setting)}, {report.seconds:.1f} s; intervals at 95 %{_checks(report)}",
    ]
    return "\n".join(lines)


def _use_lines(policies: Mapping[str, serverless.ServerlessPolicyResult]) -> Iterator[str]:
    for part in PARTS:
        if rows := part.filled(policies):
            yield rows.text()
            yield ""


class _PolicyRow(NamedTuple):
    sharing: str
    policy: str
    outcome: serverless.ServerlessPolicyResult


def _policy_column(column: Column[serverless.ServerlessPolicyResult]) -> Column[_PolicyRow]:
    return Column(column.heading, lambda r: column.value_of(r.outcome), column.kind)


SHARING = Table[_PolicyRow](
    "",
    (
        Column("sharing", lambda r: r.sharing),
        Column("policy", lambda r: r.policy),
        *map(_policy_column, CALLS.columns),
    ),
)


def sharing_text(report: serverless.SharingReport) -> str:
    """Return the same workload under several ways of sharing, side by side."""
    rows = (
        _PolicyRow(mode, policy, outcome)
        for mode, of in report.sharing.items()
        for policy, outcome in of.policies.items()
    )
    setting = next(iter(report.sharing.values())).setting
    ways = setting.model_copy(update={"sharing": ", ".join(report.sharing)})
    return f"{SHARING.fill(rows).text()}\n\n{_setting(ways)}"


def _oracle_lines(oracle: serverless.Oracle | None) -> Iterator[str]:
    if oracle is not None and oracle.cost_per_call_usd is not None:
        yield f"oracle: {dollars(oracle.cost_per_call_usd)} per {PER:,} calls, with {oracle.how}"


def _setting(setting: serverless.RunSetting) -> str:
    notes = "".join(f"{note}\n" for note in setting.notes)
    return (
        f"{notes}{setting.replications} runs of {setting.calls:,} calls, seed {setting.seed}, "
        f"{setting.nodes} nodes, {setting.sharing}"
    )


def _checks(report: serverless.ServerlessReport) -> str:
    if not report.checks:
        return ""
    verdict = "all passed" if all(report.checks.values()) else "FAILED: " + "; ".join(report.failed_checks)
    return f"; checks: {verdict}"


def _confirmed(function: Function) -> str:
    return ", ".join(function.confirmed) or "nothing"


class _Timed(NamedTuple):
    function: Function
    cpu_s: float
    gpu_s: float
    fastest_s: float | None


def function_times(system: ServerlessSystem) -> FilledTable:
    """Every function of a scenario: its time at the smallest configuration, and with all vGPUs."""
    space, largest = system.space, int(system.space.vgpus.max())
    few = space[space.smallest]
    most = next(
        place
        for place, own in enumerate(space.configurations)
        if (own.batch, own.vcpus, own.vgpus) == (few.batch, few.vcpus, largest)
    )
    columns: tuple[Column[_Timed], ...] = (
        Column("function", lambda r: r.function.name),
        Column("smallest", lambda r: r.cpu_s + r.gpu_s, TIME),
        Column("on the CPU", lambda r: r.cpu_s / (r.cpu_s + r.gpu_s), SHARE),
        Column(f"on {largest} vGPUs", lambda r: r.fastest_s, TIME),
        Column("cold start", lambda r: r.function.cold_start_s, TIME),
        Column("confirmed", lambda r: _confirmed(r.function)),
        Column("source", lambda r: r.function.source),
    )
    return Table("", columns).fill(
        _Timed(
            function,
            float(system.cpu_s[k, space.smallest]),
            float(system.gpu_s[k, space.smallest]),
            number(float(system.time_s[k, most])),  # infinite where a file has no time for it
        )
        for k, function in enumerate(system.functions)
    )
