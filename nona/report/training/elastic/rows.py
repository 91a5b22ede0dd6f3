"""Tables of a run of elastic jobs: every policy, every job, every change of one job's GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from nona.report.figures.style import number_text
from nona.report.text import or_dash, share_text
from nona.report.training.elastic.finding import Policies
from nona.report.training.words import hours_text, jct_text
from nona.results.training.elastic import ElasticJobOutcome
from nona.results.training.elastic_history import ElasticHistory, ElasticMove, ElasticTrace

Cell = str | float | None
DECIDING = (
    "policy",
    "mean JCT",
    "p95 JCT",
    "waiting",
    "waiting for the link",
    "GPUs of a job",
    "efficiency",
    "GPUs in use",
    "worst ρ",
)
THERE = "jobs that share or wait"
JOB_DECIDING = ("job", "application", "GPUs asked", "JCT, h", "waited, h", "ρ")


def policy_rows(policies: Policies) -> list[dict[str, Cell]]:
    """A row for each policy; intervals are over runs with other random numbers."""
    found: list[dict[str, Cell]] = []
    linked = any(p.link_share for p in policies.values())
    for name, p in policies.items():
        rhos = [job.rho for job in p.jobs if job.rho is not None]
        found.append(
            {
                "policy": name,
                "mean JCT": jct_text(p.jct_s),
                "median JCT": hours_text(p.jct_s.p50),
                "p95 JCT": hours_text(p.jct_s.p95),
                "p99 JCT": hours_text(p.jct_s.p99),
                "authors' mean JCT": hours_text(p.published_s),
                "makespan": hours_text(p.makespan_s),
                "waiting": hours_text(p.waited_s),
                "GPUs of a job": f"{p.mean_gpus:.3g}",
                "efficiency": share_text(p.efficiency),
                "GPUs in use": share_text(p.utilization),
                "restarts": f"{p.restarts:.2f}",
                "paused": share_text(p.paused_share, 1),
                **({"waiting for the link": share_text(p.link_share, 1)} if linked else {}),
                "mean ρ": f"{sum(rhos) / len(rhos):.3g}" if rhos else "–",
                "worst ρ": f"{max(rhos):.3g}" if rhos else "–",
                "runs": p.replications,
            }
        )
    return found


def job_rows(jobs: Sequence[ElasticJobOutcome]) -> list[dict[str, Cell]]:
    """A row for each job of the first run."""
    return [
        {
            "job": job.name,
            "application": job.application,
            "GPUs asked": job.gpus,
            "batch asked": job.batch,
            "arrival, h": round(job.arrival_s / 3600, 3),
            "JCT, h": round(job.jct_s / 3600, 3),
            "waited, h": round(job.waited_s / 3600, 3),
            "GPU hours": round(job.gpu_s / 3600, 3),
            "restarts": job.restarts,
            "ρ": None if job.rho is None else round(job.rho, 3),
        }
        for job in jobs
    ]


def change_rows(trace: ElasticTrace, job: int) -> list[dict[str, Cell]]:
    """A row for each change of a job's GPUs: what changed, and what the policy knew."""
    moves = [move for move in trace.moves if move.job == job]
    return list(_changes(trace, moves))


def _changes(trace: ElasticTrace, moves: Sequence[ElasticMove]) -> Iterator[dict[str, Cell]]:
    first = ElasticMove(time_s=0.0, job=0, gpus=(), value=None, facts={})
    for before, move in pairwise([first, *moves]):
        row: dict[str, Cell] = {
            "at, h": round(move.time_s / 3600, 3),
            "change": change_text(before, move, move is moves[-1]),
            "GPUs": size_of(move),
            "nodes": " ".join(f"{node}:{gpus}" for node, gpus in move.gpus) or "–",
        }
        if trace.value:
            row[trace.value] = _figure(move.value)
        row |= {what: _figure(value) for what, value in move.facts.items()}
        yield row | {THERE: _there(trace, move.time_s)}


def deciding_changes(trace: ElasticTrace, columns: Iterable[str]) -> list[str]:
    """The columns of changes that fit a page: what changed, and the first two figures of why."""
    usual = ("at, h", "change", "GPUs")
    why = [c for c in columns if c not in (*usual, "nodes", THERE)]
    return [*usual, *(sorted(why, key=lambda c: c != trace.value)[:2])]


def size_of(move: ElasticMove) -> int:
    """GPUs in all.

    >>> size_of(ElasticMove(time_s=0, job=0, gpus=((3, 4), (0, 2)), value=None, facts={}))
    6
    """
    return sum(gpus for _, gpus in move.gpus)


def change_text(before: ElasticMove, move: ElasticMove, last: bool = False) -> str:
    """What a change is called.

    >>> moves = [ElasticMove(time_s=t, job=0, gpus=g, value=None, facts={})
    ...          for t, g in enumerate([(), ((0, 1),), ((0, 4),), ((1, 4),), ((1, 2),), ()])]
    >>> [change_text(a, b) for a, b in zip(moves, moves[1:])]
    ['starts', 'grows', 'moves', 'shrinks', 'pauses']
    """
    old, new = size_of(before), size_of(move)
    if not new:
        return "completes" if last else "pauses"
    if not old:
        return "starts"
    return "moves" if new == old else "grows" if new > old else "shrinks"


def _there(trace: ElasticTrace, time_s: float) -> str:
    """Jobs with and without GPUs at the last kept tick up to a time."""
    k = max((i for i, t in enumerate(trace.time_s) if t <= time_s + 1e-9), default=0)
    return f"{trace.running[k]} + {trace.waiting[k]}"


def _figure(value: float | None) -> str:
    return or_dash(value, number_text)


def every_job(data: ElasticHistory) -> list[dict[str, Cell]]:
    """A row for each job under each policy, in plain units, for files."""
    return [{"policy": name, **job.to_json()} for name, p in data.report.policies.items() for job in p.jobs]


def course_rows(data: ElasticHistory) -> list[dict[str, Cell]]:
    """A row for each policy, job with GPUs and tick, in plain units, for files."""
    return [
        {
            "policy": policy,
            "job": name,
            "time_s": time_s,
            "gpus": gpus,
            "batch": batch,
            "efficiency": efficiency,
            "goodput": goodput,
        }
        for policy, trace in data.traces.items()
        for name, c in zip(data.jobs, trace.courses, strict=False)
        for time_s, gpus, batch, efficiency, goodput in zip(
            c.time_s, c.gpus, c.batch, c.efficiency, c.goodput, strict=True
        )
    ]
