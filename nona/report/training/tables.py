"""Tables of a training cluster, and the jobs on each GPU as a trace for Perfetto."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nona import __version__
from nona.report.training.findings import dollars_text, hours_text, jct_text, job_label
from nona.results.trace import Trace, TraceAbout, TraceEvent, TraceJobs
from nona.results.training import JobOutcome, PolicyOutcome, PriorityRow, TrainingOutcome
from nona.tables.formats import or_dash, share_text, time_text
from nona.units import format_number

Cell = str | float | None
DECIDING = ("policy", "mean JCT", "p95 JCT", "makespan", "worst ρ", "utilisation", "cost")
JOB_DECIDING = ("job", "model", "GPUs", "arrival, h", "JCT, h", "ρ")


def deciding(policies: Mapping[str, PolicyOutcome]) -> tuple[str, ...]:
    """The columns that decide, with deadlines and lost work where there are some."""
    also = {
        "SLOs kept": any(p.slo_hit_rate is not None for p in policies.values()),
        "work lost": any(p.lost_steps_share for p in policies.values()),
    }
    return (*DECIDING, *(c for c, present in also.items() if present))


def job_deciding(jobs: Sequence[JobOutcome]) -> tuple[str, ...]:
    """The columns of jobs that decide, with kind, team and deadline where jobs differ in them."""
    also = {
        "kind": len({j.kind for j in jobs}) > 1,
        "team": len({j.entity for j in jobs}) > 1,
        "SLO kept": any(j.met is not None for j in jobs),
        "measured": not all(j.measured for j in jobs),
    }
    return (*JOB_DECIDING[:2], *(c for c, differs in also.items() if differs), *JOB_DECIDING[2:])


def cell_text(value: Cell) -> str:
    """A cell as text; numbers that are not whole have three digits.

    >>> cell_text(12345), cell_text(0.123456), cell_text("2.5 h"), cell_text(None)
    ('12,345', '0.123', '2.5 h', '–')
    """
    if value is None or isinstance(value, str):
        return value or "–"
    return f"{value:,}" if isinstance(value, int) else format_number(value)


def team_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, Cell]]:
    """A row for each policy and team in the first replication; none where there is only one team."""
    rows: list[dict[str, Cell]] = []
    for name, p in policies.items():
        teams = list(dict.fromkeys(j.entity for j in p.measured))
        for team in teams if len(teams) > 1 else ():
            own = [j for j in p.measured if j.entity == team]
            jcts, rhos = (
                [j.jct_s for j in own if j.jct_s is not None],
                [j.rho for j in own if j.rho is not None],
            )
            costs = [j.cost_usd for j in own if j.cost_usd is not None]
            rows.append(
                {
                    "policy": name,
                    "team": team or "–",
                    "jobs": len(own),
                    "mean JCT": hours_text(sum(jcts) / len(jcts) if jcts else None),
                    "mean ρ": _number(sum(rhos) / len(rhos) if rhos else None),
                    "worst ρ": _number(max(rhos, default=None)),
                    "cost": dollars_text(sum(costs) if costs else None),
                }
            )
    return rows


def policy_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, Cell]]:
    """A row for each policy, in the order of the scenario."""
    return [_row(name, p) for name, p in policies.items()]


def _row(name: str, p: PolicyOutcome) -> dict[str, Cell]:
    return {
        "policy": name,
        "mean JCT": jct_text(p.jct_s),
        "median JCT": hours_text(p.jct_s.p50),
        "p95 JCT": hours_text(p.jct_s.p95),
        "p99 JCT": hours_text(p.jct_s.p99),
        "ideal mean JCT": hours_text(p.ideal_jct_s),
        "makespan": hours_text(p.makespan_s),
        "mean ρ": _number(p.rho.mean),
        "worst ρ": _number(p.rho.worst),
        "utilisation": _share(p.utilization),
        "cost": dollars_text(p.cost_usd),
        "SLOs kept": _share(p.slo_hit_rate),
        "preemptions": format_number(p.preemptions),
        "moves": format_number(p.moves),
        "received − X": _share(p.received_error),
        "work lost": _share(p.lost_steps_share),
        "decisions": p.decisions,
        "mean decision": time_text(p.decision_s),
        "longest decision": time_text(p.decision_most_s),
        "largest gap": or_dash(p.worst_gap, lambda v: format_number(v, 1)),
    }


def disturbance_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, Cell]]:
    """Time lost to failures and moves in the first replication; none where neither costs anything."""
    extensions = {n: p.extensions for n, p in policies.items() if p.extensions is not None}
    if not any(e.failures or e.checkpoint_s or e.move_s for e in extensions.values()):
        return []
    return [
        {
            "policy": name,
            "failures of jobs": e.failures,
            "work undone by failures": _share(e.undone_share),
            "restarts": hours_text(e.restart_s),
            "checkpoints": hours_text(e.checkpoint_s),
            "moves": hours_text(e.move_s),
        }
        for name, e in extensions.items()
    ]


def job_rows(jobs: Sequence[JobOutcome]) -> list[dict[str, Cell]]:
    """A row for each job of the first replication; times in hours."""
    return [
        {
            "job": j.name,
            "model": j.model.removesuffix(f" of {j.name}"),
            "kind": j.kind,
            "team": j.entity,
            "measured": "yes" if j.measured else "no",
            "GPUs": j.workers,
            "arrival, h": _hours(j.arrival_s),
            "JCT, h": _hours(j.jct_s),
            "ρ": None if j.rho is None else round(j.rho, 3),
            "SLO, h": _hours(j.slo_s),
            "SLO kept": "–" if j.met is None else "yes" if j.met else "no",
            "cost, $": None if j.cost_usd is None else round(j.cost_usd, 2),
            "preemptions": j.preemptions,
            "moves": j.moves,
        }
        for j in jobs
    ]


def priority_rows(rows: Sequence[PriorityRow], names: Sequence[str]) -> list[dict[str, Cell]]:
    """A row for each job, or pair, and type of GPU in a round, the highest priority first."""
    ordered = sorted(rows, key=lambda r: (r.gpu, -r.priority, r.jobs))
    return [
        {
            "type": r.gpu,
            "job": " + ".join(names[j] for j in r.jobs),
            "ran": "yes" if r.ran else "no",
            "why": r.why,
            "share X": round(r.share, 4),
            "received τ": hours_text(r.received_s),
            "all rows W": hours_text(r.type_s),
            "priority π": float(f"{r.priority:.4g}"),
            "deficit δ": hours_text(r.deficit_s),
        }
        for r in ordered
    ]


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds / 3600, 3)


def _share(share: float | None) -> str:
    return or_dash(share, lambda known: share_text(known, 1))


def _number(value: float | None) -> str:
    return or_dash(value, lambda known: format_number(known))


MOST_EVENTS = 100_000
MICRO = 1e6


def stays_trace(outcome: TrainingOutcome) -> Trace:
    """The stays of the first replication of every policy; beyond ``MOST_EVENTS`` the latest are left out."""
    events: list[TraceEvent] = []
    jobs: dict[str, TraceJobs] = {}
    for place, (policy, trace) in enumerate(outcome.traces.items()):
        room = MOST_EVENTS // max(1, len(outcome.traces))
        slices: list[TraceEvent] = []
        shown: set[int] = set()
        for number, gpu in enumerate(sorted(outcome.types)):
            process = _process(outcome, place, number)
            events.append(_named("process_name", f"{policy}: {gpu}", process))
            events += [_named("thread_name", f"{gpu} {k}", process, k + 1) for k in range(outcome.types[gpu])]
        for stay in sorted(trace.stays, key=lambda s: (s.start_s, s.gpu, s.gpus)):
            if len(slices) + len(stay.gpus) > room:
                break
            process = _process(outcome, place, sorted(outcome.types).index(stay.gpu))
            shown.update(stay.jobs)
            slices += [
                TraceEvent(
                    ph="X",
                    name=" + ".join(job_label(outcome.job_names[j]) for j in stay.jobs),
                    cat="stay",
                    pid=process,
                    tid=gpu + 1,
                    ts=stay.start_s * MICRO,
                    dur=(stay.end_s - stay.start_s) * MICRO,
                )
                for gpu in stay.gpus
            ]
        events += slices
        jobs[policy] = TraceJobs(shown=len(shown), recorded=len({j for s in trace.stays for j in s.jobs}))
    return Trace(
        traceEvents=tuple(events),
        displayTimeUnit="ms",
        otherData=TraceAbout(
            producer=f"Nona Planner {__version__}",
            scenario=outcome.report.setting.name,
            jobs=jobs,
            events_at_most=MOST_EVENTS,
            note="First replication of each policy; consecutive rounds on the same GPUs are one slice.",
        ),
    )


def _process(outcome: TrainingOutcome, policy: int, gpu: int) -> int:
    return 1 + policy * len(outcome.types) + gpu


def _named(what: str, name: str, process: int, thread: int | None = None) -> TraceEvent:
    return TraceEvent(ph="M", name=what, pid=process, tid=thread, args={"name": name})
