"""Printed text of serverless runs: policies, applications, platform and its use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nona.report.means import mean_text
from nona.report.serverless.findings import PER, cost_text, dollars, pareto_title, rate_text
from nona.report.text import or_dash, share_text, table, time_text
from nona.results.serverless import (
    ApplicationOutcome,
    Oracle,
    Outcome,
    PolicyOutcome,
    SchedulersReport,
    ServerlessReport,
    Setting,
    SharingReport,
)
from nona.units import format_number, format_time


def transfer_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """The transfers of each policy over a network that they share; none where they do not."""
    return [
        {
            "policy": name,
            "mean transfer": mean_text(used.mean_s, format_time),
            "of it waiting": mean_text(used.wait_s, format_time),
            "core": or_dash(used.core_utilization, share_text),
            "busiest link": used.busiest_link,
            "its use": or_dash(used.busiest_utilization, share_text),
        }
        for name, p in policies.items()
        for used in [p.transfers]
        if used is not None
    ]


def container_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """The containers of each policy, where they pay for waiting or need memory."""
    return [
        {
            "policy": name,
            f"executing, $ per {PER:,}": cost_text(of.executing_per_call_usd),
            f"idle, $ per {PER:,}": cost_text(of.idle_per_call_usd),
            "time busy": or_dash(of.busy, share_text),
            "time idle": or_dash(of.idle, share_text),
            "time starting": or_dash(of.starting, share_text),
        }
        for name, p in policies.items()
        for of in [p.containers]
        if of is not None
    ]


def memory_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """Tabulate the memory of each policy's containers; empty if memory is not limited."""
    return [
        {
            "policy": name,
            "memory held": or_dash(of.mean, share_text),
            "at most on a node": or_dash(of.most, share_text),
            "evictions a batch": mean_text(of.evictions, format_number),
        }
        for name, p in policies.items()
        for of in [p.memory]
        if of is not None
    ]


def standing_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """The instances of each policy whose instances stand, and the parts of their cost."""
    return [
        {
            "policy": name,
            "instances": or_dash(s.instances, "{:.1f}".format),
            "starts": or_dash(s.starts, "{:.1f}".format),
            "busy": or_dash(s.busy_share, share_text),
            "idle": or_dash(s.idle_share, share_text),
        }
        for name, p in policies.items()
        if (s := p.standing) is not None
    ]


COLUMNS = (
    "policy",
    "SLOs kept",
    f"$ per {PER:,}",
    "$ per hit",
    "mean",
    "p95",
    "misses",
    "cold",
    "batch",
    "state",
)
MORE = ("policy", "search", "steps", "local", "vCPUs", "vGPUs", "stranded", "forced", "rechecks")


def policy_rows(outcomes: Mapping[str, Outcome]) -> list[dict[str, str]]:
    """The main figures of each policy, formatted."""
    return [
        {
            "policy": name,
            "SLOs kept": rate_text(p.slo_hit_rate),
            f"$ per {PER:,}": cost_text(p.cost_per_call_usd),
            "$ per hit": dollars(p.cost_per_hit_usd.mean),
            "mean": time_text(p.latency_s.mean),
            "p95": time_text(p.latency_s.p95),
            "misses": rate_text(p.configuration_miss_rate),
            "cold": or_dash(p.cold_start_rate, "{:.2%}".format),
            "batch": or_dash(p.mean_batch, "{:.2f}".format),
            "state": p.state,
        }
        for name, p in outcomes.items()
    ]


def platform_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """Tabulate each policy's use of the platform."""
    return [
        {
            "policy": name,
            "search": time_text(p.search_s.mean),
            "steps": or_dash(p.steps_mean, "{:.0f}".format),
            "local": or_dash(p.locality, share_text),
            "vCPUs": or_dash(p.utilization.vcpu, share_text),
            "vGPUs": or_dash(p.utilization.vgpu, share_text),
            "stranded": or_dash(p.stranded_vgpus, "{:.2f}".format),
            "forced": or_dash(p.forced, "{:.2%}".format),
            "rechecks": or_dash(p.rechecks, "{:.2f}".format),
        }
        for name, p in policies.items()
    ]


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
        table(policy_rows(policies), COLUMNS),
        "",
        table(platform_rows(policies), MORE),
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
    """Format tables on parts that only some scenarios model."""
    tables = (transfer_rows, container_rows, memory_rows, standing_rows)
    for rows in (of(policies) for of in tables):
        if rows:
            yield table(rows, tuple(rows[0]))
            yield ""


def schedulers_text(report: SchedulersReport) -> str:
    """A table of DAG schedulers on serverless workflows."""
    rows = [{"scheduler": row["policy"], **row} for row in policy_rows(report.schedulers)]
    without = {"policy", "misses", "cold", "batch"}  # what schedulers of single tasks do not have
    return table(rows, ("scheduler", *(column for column in COLUMNS if column not in without)))


def sharing_text(report: SharingReport) -> str:
    """The same workload under several ways of sharing, side by side."""
    rows = [
        {"sharing": mode if first == name else "", "policy": name, **row}
        for mode, mode_report in report.sharing.items()
        for first in [next(iter(mode_report.policies))]
        for name, row in zip(mode_report.policies, policy_rows(mode_report.policies), strict=True)
    ]
    columns = ("sharing", *COLUMNS)
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
