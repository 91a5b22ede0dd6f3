"""All switches of a training cluster as the hooks of one run."""

from __future__ import annotations

from collections.abc import Sequence

from nona.allocation.problem import Allocation, Floats, Problem
from nona.random_streams import RandomStreams
from nona.results.training import ExtensionFindings
from nona.training.beliefs import ClaimedRates, EstimatedPairs
from nona.training.disturbance import Disturbance
from nona.training.moves import Charger, Holder
from nona.training.question import NO_HOOKS, Hooks, Outcome, Stretch
from nona.training.regions import Regional
from nona.training.state import Rates, State
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
        self._holder: Holder | None = None
        if self._disturbance and (moves := system.moves) and moves.charge:
            numbers = {job.name: i for i, job in enumerate(system.jobs)}
            horizon_s = moves.horizon or system.reallocation_s
            self._charger = Charger(numbers, self._disturbance.move_s, horizon_s)
            self._holder = Holder(self._disturbance.move_s, moves.overhead)
        self._regions: Regional | None = None
        self._state: State | None = None

    def begin(self, rates: Rates, state: State) -> None:
        self._state = state
        if self._system.regions and self._disturbance:
            self._regions = Regional(self._system, rates, self._disturbance.move_s, self._disturbance.delay)

    def arrived(self, job: int, now_s: float) -> None:
        if self._regions:
            self._regions.arrived(job)

    def believed(self, jobs: Sequence[int], rates: Floats) -> Floats:
        """Moves between regions are decided; then rates there, as users claim them."""
        if self._regions and self._state:
            self._regions.plan(jobs, self._state.now, self._state.remaining[list(jobs)])
            rates = self._regions.limited(jobs)
        return self._claims.rates(jobs, rates) if self._claims else rates

    def believed_pairs(self, jobs: Sequence[int], pairs: Sequence[tuple[int, int]], rates: Floats) -> Floats:
        """Pairs as estimated, and as users' claims scale them."""
        if self._pairs:
            rates = self._pairs.rates(pairs, rates)
        return self._claims.pairs(pairs, rates) if self._claims else rates

    def choose(self, problem: Problem, new: Allocation) -> Allocation:
        """A charged policy keeps its old answer where the new one is not worth its moves."""
        return self._charger.choose(problem, new) if self._charger else new

    def held(
        self, rows: Sequence[tuple[int, ...]], shares: Floats, now_s: float
    ) -> Sequence[tuple[int, int]]:
        """Under a charged policy a moved job keeps its GPUs until its move has paid."""
        return self._holder.held(rows, shares, now_s) if self._holder else ()

    def run(self, stretch: Stretch) -> Outcome | None:
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
        if self._regions:
            self._regions.completed(job)

    def findings(self) -> ExtensionFindings:
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


def findings_of(hooks: Hooks) -> ExtensionFindings | None:
    """Return the effects of the switches in a run; ``None`` where all are off."""
    return hooks.findings() if isinstance(hooks, Extensions) else None


def hooks_for(system: TrainingSystem, replication: int = 0) -> Hooks:
    """The hooks of the system's switches; none where all are off."""
    switches = (system.estimator, system.estimates, system.moves, system.failures, system.regions)
    return NO_HOOKS if all(s is None for s in switches) else Extensions(system, replication)
