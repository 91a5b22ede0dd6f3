"""Replications of several policies, in this process or in several, each beside its fluid bound.

A run depends on its system, the policy, its options and the replication's number alone, so results are the
same whatever the number of processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from nona.allocation.equal_shares import equal_shares
from nona.allocation.problem import Allocation, AllocationPolicy, AllocationProblem
from nona.allocation.registry import POLICIES, get_policy
from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.experiments import Key, RunListener, check_runs, run_work
from nona.core.options import Options
from nona.core.random_streams import RandomStreams
from nona.training.beliefs import ClaimedRates, EstimatedPairs
from nona.training.disturbance import Disturbance
from nona.training.mechanism import TypedGpus
from nona.training.metrics import PolicyReplication, measure
from nona.training.moves import Charger, MoveBudget
from nona.training.question import NO_HOOKS, CheckpointOutcome, Hooks, JobInterval, PinnedJobs, ProblemBuilder
from nona.training.records import TrainingRecords, run_checks
from nona.training.regions import Regional
from nona.training.results import ExtensionFindings, TrainingPolicyResult
from nona.training.rounds import OnProgress, RoundOptions, simulate_training
from nona.training.state import JobArrays, Rates
from nona.training.system import TrainingSystem


class Extensions(Hooks):
    """The switches of the system in one run."""

    def __init__(self, system: TrainingSystem, replication: int) -> None:
        streams = RandomStreams(system.seed, replication)
        self._system = system
        self._claims = ClaimedRates(system, streams) if system.estimates else None
        self._pairs = EstimatedPairs(system, streams) if system.estimator else None
        disturbs = system.moves or system.failures or system.regions
        self._disturbance = Disturbance(system, streams) if disturbs else None
        self._charger: Charger | None = None
        self._holder: MoveBudget | None = None
        if self._disturbance and (moves := system.moves) and moves.charge:
            numbers = {job.name: i for i, job in enumerate(system.jobs)}
            horizon_s = moves.horizon or system.reallocation_s
            self._charger = Charger(numbers, self._disturbance.move_s, horizon_s)
            self._holder = MoveBudget(self._disturbance.move_s, moves.overhead)
        self._regions: Regional | None = None
        self._state: JobArrays | None = None

    def begin(self, rates: Rates, state: JobArrays) -> None:
        """Prepare for a run; ``rates`` are the true rates."""
        self._state = state
        if self._system.regions and self._disturbance:
            self._regions = Regional(self._system, rates, self._disturbance.move_s, self._disturbance.delay)

    def arrived(self, job: int, now_s: float) -> None:
        """Pass on the arrival of a job."""
        if self._regions:
            self._regions.arrived(job)

    def believed(self, jobs: Sequence[int], rates: Floats) -> Floats:
        """Decide moves between regions; then return the rates there, as users claim them."""
        if self._regions and self._state:
            self._regions.plan(jobs, self._state.now, self._state.remaining[list(jobs)])
            rates = self._regions.limited(jobs)
        return self._claims.rates(jobs, rates) if self._claims else rates

    def believed_pairs(self, jobs: Sequence[int], pairs: Sequence[tuple[int, int]], rates: Floats) -> Floats:
        """Pairs as estimated, and as users' claims scale them."""
        if self._pairs:
            rates = self._pairs.rates(pairs, rates)
        return self._claims.pairs(pairs, rates) if self._claims else rates

    def choose(self, problem: AllocationProblem, new: Allocation) -> Allocation:
        """Return the new allocation, or the old one where the new one is not worth its moves."""
        return self._charger.choose(problem, new) if self._charger else new

    def kept_rows(
        self, rows: Sequence[tuple[int, ...]], shares: Floats, now_s: float
    ) -> Sequence[tuple[int, int]]:
        """Under a charged policy a moved job keeps its GPUs until its move has paid."""
        return self._holder.kept_rows(rows, shares, now_s) if self._holder else ()

    def run(self, stretch: JobInterval) -> CheckpointOutcome | None:
        """Return how a stretch of a job ends; ``None`` where nothing disturbs it."""
        if self._holder:
            self._holder.starts(stretch)
        return self._disturbance.run(stretch) if self._disturbance else None

    def measured(self, job: int, kind: int, partner: int | None, rate: float, partner_rate: float) -> None:
        """Rates alone correct claims; pairs that ran are known."""
        if self._holder:
            self._holder.ran((job,) if partner is None else (job, partner), kind)
        if partner is None:
            if self._claims:
                self._claims.measured(job, kind, rate)
        elif self._pairs:
            self._pairs.ran(job, partner)

    def completed(self, job: int, now_s: float) -> None:
        """Pass on the completion of a job."""
        if self._regions:
            self._regions.completed(job)

    def findings(self) -> ExtensionFindings:
        """Return the failures, moves and misstated rates of the run."""
        tally = self._disturbance.tally if self._disturbance else None
        errors = self._claims.errors if self._claims else []
        pairs = self._pairs.errors if self._pairs else []
        undone = tally.undone / tally.done if tally and tally.done > 0 else None
        return ExtensionFindings(
            failures=tally.failures if tally else 0,
            restart_s=tally.restart_s if tally else 0.0,
            checkpoint_s=tally.checkpoint_s if tally else 0.0,
            move_s=tally.move_s if tally else 0.0,
            undone_share=undone if tally and self._system.failures else None,
            answers=self._charger.answers if self._charger else 0,
            declined=self._charger.declined if self._charger else 0,
            claim_error_first=errors[0] if errors else None,
            claim_error_last=errors[-1] if errors else None,
            flagged=self._claims.book.flagged() if self._claims else (),
            pair_error_first=pairs[0] if pairs else None,
            pair_error_last=pairs[-1] if pairs else None,
            region_moves=self._regions.moves if self._regions else 0,
            advice=tuple(self._regions.advice) if self._regions else (),
        )


def _findings_of(hooks: Hooks) -> ExtensionFindings | None:
    """Return the effects of the switches in a run; ``None`` where all are off."""
    return hooks.findings() if isinstance(hooks, Extensions) else None


def hooks_for(system: TrainingSystem, replication: int = 0) -> Hooks:
    """Return the hooks of the system's switches; none where all are off."""
    switches = (system.estimator, system.estimates, system.moves, system.failures, system.regions)
    return NO_HOOKS if all(s is None for s in switches) else Extensions(system, replication)


_DONE = 1e-9  # of a job's steps


def ideal_jcts_s(
    system: TrainingSystem, policy: AllocationPolicy, options: Options, replication: int = 0
) -> Floats:
    """(M,) JCT of each job at exactly its share of time; NaN if not complete when the last measured one is.

    Between two events a job progresses at thr_i(X) = Σ T·X over its rows. Events are arrivals, completions,
    and ends of jobs that hold GPUs. Where shares add up to more GPUs than there are (as Proportional's do),
    all shares of that type are cut in proportion. Nothing is lost to rounds, waiting for the next answer,
    moves or failures. It is a bound on what rounds can make of the same shares, not on what another policy
    could reach; rounds also give away time that the shares leave over, so they may beat it where GPUs are
    plenty.
    """
    fluid = _Fluid(system, policy, options, replication)
    fluid.finish()
    return fluid.state.completion_s - fluid.state.arrival_s


class _Fluid:
    def __init__(
        self, system: TrainingSystem, policy: AllocationPolicy, options: Options, replication: int
    ) -> None:
        self.system, self.policy = system, policy
        self.allocate = policy.prepare(options)
        self.rates, self.state = Rates(system), JobArrays(system)
        self.gpus = np.array([system.cluster.gpus[t] for t in system.cluster.types], float)
        boards = [TypedGpus(system.cluster.nodes[t]) for t in system.cluster.types]
        self.pinned = PinnedJobs(system, self.rates, boards)
        self.questions = ProblemBuilder(system, self.rates, NO_HOOKS, replication)
        self.active: list[int] = []
        self.arrived = self.calls = 0
        self.answer: Allocation | None = None
        first, last = system.window
        self._open = {i for i in range(first, last + 1) if system.jobs[i].kind == "training"}

    def finish(self) -> None:
        speed = np.zeros(0)
        while self._open:
            coming = self._coming_s()
            left = self.state.remaining[self.active]
            ends = np.divide(left, speed, out=np.full(len(left), np.inf), where=speed > 0)
            step = float(ends.min(initial=math.inf))
            event = min(self.state.now + step, coming, self.pinned.next_end_s)
            if math.isinf(event):
                name = self.system.jobs[self.active[0]].name if self.active else ""
                raise SimulationError(
                    f"Policy {self.policy.name!r}: job {name!r} never gets a GPU; add one that it can use."
                )
            self._pass(event, speed)
            self._admit()
            speed = self._speeds()

    def _coming_s(self) -> float:
        jobs = self.system.jobs
        return jobs[self.arrived].arrival_s if self.arrived < len(jobs) else math.inf

    def _pass(self, until_s: float, speed: Floats) -> None:
        state, rows = self.state, np.array(self.active, np.int64)
        state.remaining[rows] -= speed * (until_s - state.now)
        state.now = until_s
        done = {int(i) for i in rows[state.remaining[rows] <= _DONE * state.total_steps[rows]]}
        for job in done:
            state.remaining[job], state.completion_s[job] = 0.0, until_s
        self.active = [job for job in self.active if job not in done]
        self._open -= done
        for stay in self.pinned.end(until_s):
            state.completion_s[stay.job] = stay.end_s

    def _admit(self) -> None:
        state, jobs = self.state, self.system.jobs
        while self._coming_s() <= state.now:
            job, self.arrived = self.arrived, self.arrived + 1
            state.admitted_s[job] = state.now
            if jobs[job].kind == "training":
                self.active.append(job)
            else:
                self.pinned.arrive(job)
        self.pinned.start(state.now)

    def _speeds(self) -> Floats:
        """Ask the policy for an answer; return the steps per second of each active job under it."""
        state, free = self.state, self.pinned.free(self.gpus)
        speeds = np.zeros(len(self.active))
        if not self.active or not free.any():
            return speeds
        rows = np.array(self.active)
        workers = np.array([self.system.jobs[i].workers for i in self.active])
        state.isolate(rows, (self.rates.isolated_rates[rows] * equal_shares(free, workers)).sum(axis=1))
        problem, kinds = self.questions.problem(state, self.active, free, self.answer, self.calls)
        answer = self.allocate(problem)
        self.calls += 1
        shares = np.zeros((len(answer.rows), len(free)))
        shares[:, kinds] = answer.shares
        used = workers[[row[0] for row in answer.rows]] @ shares
        shares *= np.minimum(1.0, np.divide(free, used, out=np.ones_like(free), where=used > 0))
        numbered = tuple(tuple(self.active[i] for i in row) for row in answer.rows)
        self.answer = Allocation(numbered, shares)
        for row, share in zip(answer.rows, shares, strict=True):
            if not share.any():
                continue
            if len(row) == 1:
                speeds[row[0]] += share @ self.rates.isolated_rates[self.active[row[0]]]
            else:
                both = self.rates.pair(self.active[row[0]], self.active[row[1]])
                speeds[list(row)] += share @ both
        return speeds


DEFAULT = RoundOptions()
TrainingRun = PolicyReplication[TrainingPolicyResult, TrainingRecords]
Progress = TypeVar("Progress")


@dataclass(frozen=True, slots=True)
class TrainingWork:
    """Work that every process receives once; ``systems``: one for each replication."""

    systems: tuple[TrainingSystem, ...]
    policies: tuple[tuple[AllocationPolicy | str, Options], ...]
    run_options: RoundOptions
    ideal: bool
    reporting: bool

    def run(self, key: Key, on_progress: OnProgress | None) -> TrainingRun:
        """Run one replication of a policy."""
        (sent, options), system = self.policies[key[0]], self.systems[key[1]]
        policy = get_policy(sent) if isinstance(sent, str) else sent
        run = replace(self.run_options, replication=key[1])
        if key[1]:
            run = replace(run, trace_rounds=0)
        hooks = hooks_for(system, key[1])
        records = simulate_training(system, policy, options, run, on_progress, hooks)
        ideal_jct_s = ideal_jcts_s(system, policy, options, key[1]) if self.ideal else None
        return PolicyReplication(
            outcome=measure(system, records, ideal_jct_s, _findings_of(hooks)),
            checks=run_checks(system, records),
            records=None if key[1] else records,
        )


def run_policies(
    systems: Sequence[TrainingSystem],
    policies: Sequence[tuple[AllocationPolicy, Options]],
    run: RoundOptions = DEFAULT,
    *,
    ideal: bool = True,
    workers: int = 1,
    on_progress: OnProgress | None = None,
) -> dict[str, tuple[TrainingRun, ...]]:
    """Simulate every policy, each with its options, on every system: that of replication 0, 1, ….

    ``ideal``: whether the fluid bound is computed beside each run.
    ``workers``: Processes; 1 runs all in this one.
    ``on_progress``: called in this process as runs report, each with its own fraction.
        :class:`~nona.queries.simulation.run.Cancelled` raised there stops them all, and comes out.

    Raises ``SimulationError`` for a number below 1, no policy, two of one name, or a run whose process is
    lost again and again.
    """
    check_runs("policy", [policy.name for policy, _ in policies], len(systems), workers)
    # every process has the registered policies
    sent = tuple((p.name if POLICIES.get(p.name) is p else p, dict(options)) for p, options in policies)
    work = TrainingWork(tuple(systems), sent, run, ideal, on_progress is not None)
    keys = [(p, r) for r in range(len(systems)) for p in range(len(policies))]
    runs = run_work(work, keys, passed_on(on_progress), workers)
    return {p.name: tuple(runs[k] for k in keys if k[0] == i) for i, (p, _) in enumerate(policies)}


def passed_on(on_progress: Callable[[Progress], None] | None) -> RunListener[Any]:
    """Progress is passed on, with the place of its run among the policies."""

    def report(key: Key, progress: Any) -> None:
        if on_progress is not None:
            on_progress(replace(progress, piece=key[0]))

    return RunListener(report)
