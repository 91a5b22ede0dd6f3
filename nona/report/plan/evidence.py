"""Why nothing cheaper does, and what is left when servers fail."""

from __future__ import annotations

from nona.planning.offers import gpu_text
from nona.report.plan.budget import tightest
from nona.report.plan.words import servers_text
from nona.results.plan import PlanReport
from nona.units import format_bandwidth, format_time


def evidence_text(report: PlanReport) -> str:
    """What the verdicts rest on, and what is taken for granted."""
    sure = f"{100 * report.confidence:.4g} %"
    simulated = [o for o in report.options if o.by == "simulation"]
    runs = sum(o.replications for o in simulated)
    return (
        f"{len(simulated):,} options were simulated in {runs:,} runs. A verdict is wrong in at most "
        f"{100 * (1 - report.confidence):.4g} % of cases: it holds at {sure} for all targets together and "
        "all looks at it. Bounds rule out the counts before the first of each row. Within a row, fewer "
        "servers are taken to miss what more of them miss; that is proved for one line before equal servers, "
        "not for every scheduler."
    )


def chain_rows(report: PlanReport) -> list[dict[str, str | int | None]]:
    """For each kind of cluster, the counts of the servers that grow: ruled out, missed, kept."""
    several = len({c.link for c in report.evidence}) > 1
    return [
        {
            "servers that grow": gpu_text(c.gpu, c.mig),
            "beside": servers_text(c.others) or "–",
            "scheduler": c.scheduler,
            **({"link": format_bandwidth(c.link)} if several else {}),
            "ruled out up to": c.lowest - 1,
            "misses or open up to": c.missed,
            "keeps from": c.kept,
        }
        for c in report.evidence
    ]


def failure_rows(report: PlanReport) -> list[dict[str, str]]:
    """The answer without a server of each kind, and without a rack: what is left, and its tightest target."""
    rows = []
    for f in report.failures:
        seen = tightest(report.targets, f.shares)
        rows.append(
            {
                "lost": f.lost,
                "left": servers_text(f.servers) or "nothing",
                "verdict": f.verdict,
                "tightest target": seen.text if seen else "ruled out by bounds",
                "error budget used": seen.used_span if seen else "–",
            }
        )
    return rows


def work_rows(report: PlanReport) -> list[dict[str, str]]:
    """For each model, how long one query keeps each kind of executor busy."""
    return [
        {"model": model, **{kind: format_time(seconds) for kind, seconds in by_kind.items()}}
        for model, by_kind in report.work.items()
    ]
