"""Tables of training, in rounds and elastic: policies, teams, jobs, priorities, changes, one more GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from nona.core.tables import (
    CHANGE,
    COUNT,
    KEPT,
    MONEY,
    PLAIN,
    SHARE,
    TIME,
    Column,
    FilledTable,
    NumberKind,
    Table,
    share_text,
)
from nona.training import results as training
from nona.training.elastic.results import (
    ElasticJobOutcome,
    ElasticMove,
    ElasticOutcome,
    ElasticReport,
    ElasticTrace,
)
from nona.training.report.findings import HOUR_S, dollars_text, hours_text

HOURS = NumberKind(hours_text, "_s")
DOLLARS = NumberKind(dollars_text, "_usd")
WHOLE_SHARE = NumberKind(share_text)
JCTS: tuple[Column[training.PolicyResult], ...] = (
    Column("mean JCT", lambda p: p.jct_s.estimate, HOURS, interval=True, decides=True),
    Column("median JCT", lambda p: p.jct_s.p50, HOURS),
    Column("p95 JCT", lambda p: p.jct_s.p95, HOURS, decides=True),
    Column("p99 JCT", lambda p: p.jct_s.p99, HOURS),
)
RHOS: tuple[Column[training.PolicyResult], ...] = (
    Column("mean ρ", lambda p: p.mean_rho),
    Column("worst ρ", lambda p: p.worst_rho, decides=True),
)
IN_ROUNDS = Table[training.TrainingPolicyResult](
    "policy",
    (
        *JCTS,
        Column("ideal mean JCT", lambda p: p.ideal_jct_s, HOURS),
        Column("makespan", lambda p: p.makespan_s, HOURS, decides=True),
        *RHOS,
        Column("utilisation", lambda p: p.utilization, SHARE, decides=True),
        Column("cost", lambda p: p.cost_usd, DOLLARS, decides=True),
        Column("SLOs kept", lambda p: p.slo_hit_rate, KEPT, decides=True, optional=True),
        Column("work lost", lambda p: p.lost_steps_share or None, SHARE, decides=True, optional=True),
        Column("preemptions", lambda p: p.preemptions),
        Column("moves", lambda p: p.moves),
        Column("received − X", lambda p: p.received_error, SHARE),
        Column("decisions", lambda p: p.decisions, COUNT),
        Column("mean decision", lambda p: p.decision_s, TIME),
        Column("longest decision", lambda p: p.decision_most_s, TIME),
        Column("largest gap", lambda p: p.worst_gap),
    ),
)


def _against_authors(p: ElasticOutcome) -> float | None:
    return p.jct_s.mean / p.published_s - 1 if p.jct_s.mean is not None and p.published_s else None


ELASTIC = Table[ElasticOutcome](
    "policy",
    (
        *JCTS,
        Column("authors' mean JCT", lambda p: p.published_s, HOURS, optional=True),
        Column("difference", _against_authors, CHANGE, optional=True),
        Column("makespan", lambda p: p.makespan_s, HOURS),
        Column("waiting", lambda p: p.waited_s, HOURS, decides=True),
        Column("waiting for the link", lambda p: p.link_share or None, SHARE, decides=True, optional=True),
        Column("GPUs of a job", lambda p: p.mean_gpus, decides=True),
        Column("efficiency", lambda p: p.efficiency, WHOLE_SHARE, decides=True),
        Column("GPUs in use", lambda p: p.utilization, WHOLE_SHARE, decides=True),
        *RHOS,
        Column("restarts", lambda p: p.restarts),
        Column("paused", lambda p: p.paused_share, SHARE),
        Column("runs", lambda p: p.replications, COUNT),
    ),
)
MORE = (
    *("policy", "authors' mean JCT", "difference", "preemptions", "moves", "received − X", "ideal mean JCT"),
    *("decisions", "mean decision", "median JCT", "restarts", "paused", "runs"),
)


def policies(report: training.TrainingReport | ElasticReport) -> FilledTable:
    """All figures of each policy."""
    if isinstance(report, ElasticReport):
        return ELASTIC.fill(report.policies)
    return IN_ROUNDS.fill(report.policies)


class _Team(NamedTuple):
    policy: str
    name: str
    jobs: Sequence[training.JobOutcome]

    @property
    def jcts_s(self) -> list[float]:
        return [j.jct_s for j in self.jobs if j.jct_s is not None]

    @property
    def rhos(self) -> list[float]:
        return [j.rho for j in self.jobs if j.rho is not None]

    @property
    def costs_usd(self) -> list[float]:
        return [j.cost_usd for j in self.jobs if j.cost_usd is not None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


TEAMS = Table[_Team](
    "",
    (
        Column("policy", lambda t: t.policy),
        Column("team", lambda t: t.name),
        Column("jobs", lambda t: len(t.jobs), COUNT),
        Column("mean JCT", lambda t: _mean(t.jcts_s), HOURS),
        Column("mean ρ", lambda t: _mean(t.rhos)),
        Column("worst ρ", lambda t: max(t.rhos, default=None)),
        Column("cost", lambda t: sum(t.costs_usd) if t.costs_usd else None, DOLLARS),
    ),
)


def teams(outcomes: Mapping[str, training.TrainingPolicyResult]) -> FilledTable:
    """Each team under each policy in the first replication; none where there is only one team."""
    rows = [
        _Team(name, team, [j for j in p.measured if j.entity == team])
        for name, p in outcomes.items()
        for team in dict.fromkeys(j.entity for j in p.measured)
    ]
    return TEAMS.fill(rows if len({row.name for row in rows}) > 1 else ())


DISTURBANCES = Table[training.ExtensionFindings](
    "policy",
    (
        Column("failures of jobs", lambda e: e.failures, COUNT),
        Column("work undone by failures", lambda e: e.undone_share, SHARE),
        Column("restarts", lambda e: e.restart_s, HOURS),
        Column("checkpoints", lambda e: e.checkpoint_s, HOURS),
        Column("moves", lambda e: e.move_s, HOURS),
    ),
)


def disturbances(outcomes: Mapping[str, training.TrainingPolicyResult]) -> FilledTable:
    """Time lost to failures and moves in the first replication; none where neither costs anything."""
    effects = {n: p.extensions for n, p in outcomes.items() if p.extensions is not None}
    lost = any(e.failures or e.checkpoint_s or e.move_s for e in effects.values())
    return DISTURBANCES.fill(effects if lost else {})


class _Job(NamedTuple):
    job: training.JobOutcome
    differs: frozenset[str]  # what not all jobs have alike


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / HOUR_S


def _yes(answer: bool | None) -> str | None:
    return None if answer is None else "yes" if answer else "no"


JOBS = Table[_Job](
    "",
    (
        Column("job", lambda r: r.job.name, decides=True),
        Column("model", lambda r: r.job.model.removesuffix(f" of {r.job.name}"), decides=True),
        Column("kind", lambda r: r.job.kind if "kind" in r.differs else None, decides=True, optional=True),
        Column(
            "team", lambda r: r.job.entity if "entity" in r.differs else None, decides=True, optional=True
        ),
        Column("SLO, h", lambda r: _hours(r.job.slo_s), PLAIN, optional=True),
        Column("SLO kept", lambda r: _yes(r.job.met), decides=True, optional=True),
        Column(
            "measured",
            lambda r: _yes(r.job.measured) if "measured" in r.differs else None,
            decides=True,
            optional=True,
        ),
        Column("GPUs", lambda r: r.job.workers, COUNT, decides=True),
        Column("arrival, h", lambda r: _hours(r.job.arrival_s), PLAIN, decides=True),
        Column("JCT, h", lambda r: _hours(r.job.jct_s), PLAIN, decides=True),
        Column("ρ", lambda r: r.job.rho, PLAIN, decides=True),
        Column("cost, $", lambda r: r.job.cost_usd, MONEY),
        Column("preemptions", lambda r: r.job.preemptions, COUNT),
        Column("moves", lambda r: r.job.moves, COUNT),
    ),
)


def jobs(outcomes: Sequence[training.JobOutcome]) -> FilledTable:
    """Return the jobs of the first replication; kind and team where jobs differ in them."""
    alike = ("kind", "entity", "measured")
    differs = frozenset(key for key in alike if len({getattr(job, key) for job in outcomes}) > 1)
    return JOBS.fill(_Job(job, differs) for job in outcomes)


class _Priority(NamedTuple):
    row: training.PriorityRow
    job: str


PRIORITIES = Table[_Priority](
    "",
    (
        Column("type", lambda r: r.row.gpu),
        Column("job", lambda r: r.job),
        Column("ran", lambda r: _yes(r.row.ran)),
        Column("why", lambda r: r.row.why),
        Column("share X", lambda r: r.row.share, PLAIN),
        Column("received τ", lambda r: r.row.received_s, HOURS),
        Column("all rows W", lambda r: r.row.type_s, HOURS),
        Column("priority π", lambda r: r.row.priority, PLAIN),
        Column("deficit δ", lambda r: r.row.deficit_s, HOURS),
    ),
)


def priorities(rows: Sequence[training.PriorityRow], names: Sequence[str]) -> FilledTable:
    """Each job, or pair, on each type of GPU in a round, the highest priority first."""
    ordered = sorted(rows, key=lambda r: (r.gpu, -r.priority, r.jobs))
    return PRIORITIES.fill(_Priority(r, " + ".join(names[j] for j in r.jobs)) for r in ordered)


class _OneMore(NamedTuple):
    row: training.OneMoreRow
    report: training.OneMoreReport

    @property
    def cluster(self) -> str:
        gpu = self.row.gpu
        return f"one more {gpu}: {self.report.gpus.get(gpu, 0) + 1}" if gpu else "as it is"

    @property
    def change(self) -> float | None:
        mean_s, base_s = self.row.mean_jct_s, self.report.base.mean_jct_s
        return mean_s / base_s - 1 if base_s and mean_s is not None and self.row.gpu else None


ONE_MORE = Table[_OneMore](
    "",
    (
        Column("cluster", lambda r: r.cluster),
        Column("mean JCT", lambda r: r.row.mean_jct_s, HOURS),
        Column("change", lambda r: r.change, CHANGE),
        Column("makespan", lambda r: r.row.makespan_s, HOURS),
        Column("worst ρ", lambda r: r.row.worst_rho),
        Column("cost of the measured jobs", lambda r: r.row.cost_usd, DOLLARS),
        Column("$ an hour of that GPU", lambda r: r.row.price_hour, DOLLARS),
    ),
)


def one_more(report: training.OneMoreReport) -> FilledTable:
    """Return the cluster as it is, and with one more GPU of each type."""
    return ONE_MORE.fill(_OneMore(row, report) for row in (report.base, *report.rows))


ELASTIC_JOBS = Table[ElasticJobOutcome](
    "",
    (
        Column("job", lambda j: j.name, decides=True),
        Column("application", lambda j: j.application, decides=True),
        Column("GPUs asked", lambda j: j.gpus, COUNT, decides=True),
        Column("batch asked", lambda j: j.batch, COUNT),
        Column("arrival, h", lambda j: _hours(j.arrival_s), PLAIN),
        Column("JCT, h", lambda j: _hours(j.jct_s), PLAIN, decides=True),
        Column("waited, h", lambda j: _hours(j.waited_s), PLAIN, decides=True),
        Column("GPU hours", lambda j: _hours(j.gpu_s), PLAIN),
        Column("restarts", lambda j: j.restarts, COUNT),
        Column("ρ", lambda j: j.rho, PLAIN, decides=True),
    ),
)


class _Change(NamedTuple):
    move: ElasticMove
    what: str
    others: str

    @property
    def nodes(self) -> str:
        return " ".join(f"{node}:{gpus}" for node, gpus in self.move.gpus)


def changes(trace: ElasticTrace, job: int) -> FilledTable:
    """Each change of a job's GPUs with the policy's figures at that time, of which the first two decide."""
    moves = [move for move in trace.moves if move.job == job]
    facts = dict.fromkeys(what for move in moves for what in move.facts)

    def fact(name: str) -> Column[_Change]:
        return Column(name, lambda c: c.move.facts.get(name))

    why: list[Column[_Change]] = [*map(fact, facts)]
    if trace.value:
        why.insert(0, Column(trace.value, lambda c: c.move.value))
    columns: tuple[Column[_Change], ...] = (
        Column("at, h", lambda c: _hours(c.move.time_s), PLAIN, decides=True),
        Column("change", lambda c: c.what, decides=True),
        Column("GPUs", lambda c: _size_of(c.move), COUNT, decides=True),
        Column("nodes", lambda c: c.nodes),
        *(replace(c, decides=k < 2) for k, c in enumerate(why)),
        Column("jobs that share or wait", lambda c: c.others),
    )
    return Table("", columns).fill(_changes(trace, moves))


def _changes(trace: ElasticTrace, moves: Sequence[ElasticMove]) -> Iterator[_Change]:
    first = ElasticMove(time_s=0.0, job=0, gpus=(), value=None, facts={})
    for before, move in pairwise([first, *moves]):
        k = max((i for i, t in enumerate(trace.time_s) if t <= move.time_s + 1e-9), default=0)
        others = f"{trace.running[k]} + {trace.waiting[k]}"
        yield _Change(move, _change_text(before, move, move is moves[-1]), others)


def _size_of(move: ElasticMove) -> int:
    return sum(gpus for _, gpus in move.gpus)


def _change_text(before: ElasticMove, move: ElasticMove, last: bool = False) -> str:
    """Name a change of GPUs.

    >>> moves = [ElasticMove(time_s=t, job=0, gpus=g, value=None, facts={})
    ...          for t, g in enumerate([(), ((0, 1),), ((0, 4),), ((1, 4),), ((1, 2),), ()])]
    >>> [_change_text(a, b) for a, b in zip(moves, moves[1:])]
    ['starts', 'grows', 'moves', 'shrinks', 'pauses']
    """
    old, new = _size_of(before), _size_of(move)
    if not new:
        return "completes" if last else "pauses"
    if not old:
        return "starts"
    return "moves" if new == old else "grows" if new > old else "shrinks"
