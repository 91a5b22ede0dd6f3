"""What the commands on elastic jobs print."""

from __future__ import annotations

from collections.abc import Iterator

from nona.report.text import counted, share_text, table, time_text
from nona.results.training.elastic import ElasticLink, ElasticOutcome, ElasticReport, ElasticSetting

HOUR_S = 3600
COLUMNS = (
    *("policy", "mean JCT", "± 95 %", "authors' mean", "difference", "p50", "p95", "makespan"),
    *("GPUs in use", "restarts", "paused", "waiting for the link"),
)


def elastic_text(report: ElasticReport) -> str:
    """Policies side by side, then what was run and whether the checks held."""
    return "\n".join(_lines(report))


def _lines(report: ElasticReport) -> Iterator[str]:
    rows = [policy_row(name, outcome) for name, outcome in report.policies.items()]
    shown = [c for c in COLUMNS if any(row[c] != "–" for row in rows)]
    yield table(rows, shown)
    yield ""
    yield setting_text(report.setting)
    held = sum(report.checks.values())
    yield f"{held} of {len(report.checks)} self-checks held; {time_text(report.seconds)}."
    yield from report.failed_checks


def policy_row(name: str, outcome: ElasticOutcome) -> dict[str, str]:
    """A policy's figures as the text of table cells; "–" where there is none."""
    jct, known = outcome.jct_s, outcome.published_s
    half = "–" if jct.ci95 is None else f"{(jct.ci95[1] - jct.ci95[0]) / 2:,.0f} s"
    difference = "–" if known is None or jct.mean is None else f"{100 * (jct.mean / known - 1):+.1f} %"
    return {
        "policy": name,
        "mean JCT": _seconds(jct.mean),
        "± 95 %": half,
        "authors' mean": _seconds(known),
        "difference": difference,
        "p50": _seconds(jct.p50),
        "p95": _seconds(jct.p95),
        "makespan": f"{outcome.makespan_s / HOUR_S:.1f} h",
        "GPUs in use": share_text(outcome.utilization),
        "restarts": f"{outcome.restarts:.2f}",
        "paused": share_text(outcome.paused_share, 1),
        "waiting for the link": share_text(outcome.link_share, 1) if outcome.link_share else "–",
    }


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f} s"


def setting_text(of: ElasticSetting) -> str:
    """What was run, in one or two sentences."""
    slowed = (
        f"; jobs on several nodes that share one lose {share_text(of.interference)} of their speed"
        if of.interference
        else ""
    )
    linked = f"; {link_text(of.link)}" if of.link else ""
    nodes = f"{counted(of.nodes, 'node')} with {counted(of.gpus, 'GPU')}"
    return (
        f"Workload {of.workload} at load {of.load:g}: {counted(of.jobs, 'job')} on {nodes}{linked}; ticks of "
        f"{of.tick_s} s, restarts of {of.restart_s} s{slowed}; seed {of.seed}. Profiles: {of.profiles}."
    )


def link_text(link: ElasticLink) -> str:
    """The link in a few words.

    >>> link_text(ElasticLink(capacity=1.25e9, latency_s=2e-5, discipline="fifo", background=0.5,
    ...     mean_bytes=1e6, scv=1.0))
    'a link of 10 Gbit/s (fifo) with 50 % background'
    """
    return (
        f"a link of {link.capacity * 8e-9:g} Gbit/s ({link.discipline}) with "
        f"{share_text(link.background)} background"
    )
