"""The search by sampled jobs, one sure move after the other: the program's default.

In a round every move gets a score (the mean by formula), the most promising moves are walked by few
sampled jobs, and the best of these by more, with random numbers of their own: a move is taken if it is
better by more than :data:`SURE` standard errors there. The search ends when no
move is, when the certified bound leaves nothing to gain, or at its limit, which counts work and not
seconds, so that equal inputs give equal results.

The formula's optimum is certified for the formula: mean waits, and at a join the maximum of means. What is
chosen here is judged by the response (jobs walked among random waits), beside the placements that a person
would try by hand, and improved by a search. The formula's bound stays as the bound from below: the mean of
a maximum is at least the maximum of the means (Jensen), so waits of the same means cannot make it shorter.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from nona.errors import NonaError, PlacementError
from nona.placement.configurations import ENUMERATED
from nona.placement.fixed import PRESETS, local_placement
from nona.placement.prediction import predict
from nona.placement.result import SAMPLED, Placement, Prediction, Queries, Rival, Sampled, SampledObjective
from nona.placement.sampled.judge import FINAL, Judge, Values, bounded, certificate_of, mean_of, rows, walked
from nona.placement.sampled.moves import Group, groups_of, moved, same, simpler, starts
from nona.system import System

SURE = 2.0  # standard errors
FEW, MANY = 512, 2048  # walked jobs of each class
WIDTH = 10  # moves that are sampled in a round
TRIED = 3  # of them that are looked at again
SLACK = 0.5  # a move whose score is worse by more than this share is not sampled
CLOSE = 0.005  # of the certified bound: nearer than this nothing is left to gain
SEARCHED = "search"  # origin of what moves have made of a start
WRONG = 0.02  # below the bound by more than this: the formula's waits do not hold here
_BURSTY = 4.0  # times the work of a sample with Poisson arrivals and no batches: its paths are made again
_FULL = 0.98  # of the link: there samples would show a queue that never ends

Valued = tuple[Queries, Values]
Better = Callable[[Queries, Values, str], None]


@dataclass(slots=True)
class Limits:
    """Rest of a search's budget: ``evaluations`` to sample, ``work_s`` seconds of sampling by estimate."""

    evaluations: int
    work_s: float

    @property
    def reached(self) -> bool:
        """True where nothing is left."""
        return self.evaluations <= 0 or self.work_s <= 0

    def share_of(self, evaluations: int, work_s: float) -> float:
        """Return the spent share of the first limits, 0 to 1: of the limit that is nearer.

        >>> Limits(120, 1.5).share_of(160, 2.0)
        0.25
        """
        left = min(
            self.evaluations / evaluations if evaluations > 0 else 0.0,
            self.work_s / work_s if work_s > 0 else 0.0,
        )
        return min(max(1.0 - left, 0.0), 1.0)

    def spend(self, system: System, samples: int) -> None:
        """Take one evaluation off: an estimate from the number of tasks, the same on every machine."""
        steps = sum(len(q.tasks) + 4 * len(q.decomposition.subgraphs) for q in system.queries)
        bursty = any(q.arrivals.process != "poisson" or q.batching is not None for q in system.queries)
        self.evaluations -= 1
        self.work_s -= (_BURSTY if bursty else 1.0) * (0.05 + steps * (5e-4 + 4e-7 * samples))

    def spend_scores(self, scores: int) -> None:
        """Take off the work of ``scores`` predictions by formula."""
        self.work_s -= 0.01 * scores


@dataclass(frozen=True, eq=False)
class Found:
    """The best placement, its start, and whether nothing better was left to find.

    ``tried`` are the starts that were sampled, with their values.
    """

    queries: Queries
    origin: str
    settled: bool
    tried: Mapping[str, Valued]


class Search:
    """A search under way.

    ``bound`` is a value that no placement is below, ``nan`` where there is none; ``on_better`` hears of every
    placement that becomes the best so far, ``on_spent`` after every placement judged of the share of the
    limit that is spent.
    """

    def __init__(
        self,
        judge: Judge,
        limits: Limits,
        seed: int,
        *,
        bound: float = math.nan,
        check: Callable[[], None] = lambda: None,
        on_better: Better = lambda queries, values, origin: None,
        on_spent: Callable[[float], None] = lambda share: None,
    ) -> None:
        self.judge, self.limits, self.seed, self.bound = judge, limits, seed, bound
        self.check, self.on_better, self.on_spent = check, on_better, on_spent
        self._whole = limits.evaluations, limits.work_s
        self.turn, self.origin = 0, "formula"
        self.tried: dict[str, Valued] = {}

    def run(self, starts: Mapping[str, Queries], groups: Callable[[], tuple[Group, ...]]) -> Found:
        """Search from the best of ``starts``, the first of which is the formula's optimum."""
        here, values = self._best_start(starts)
        if self._nothing_left(values) or self.limits.reached:
            return self._found(here, self._nothing_left(values))
        choices = groups()
        while not self.limits.reached:
            step = self._step(here, choices)
            if step is None:
                return self._found(here, True)
            here, values = step
            self.origin = SEARCHED
            self.on_better(here, values, self.origin)
            if self._nothing_left(values):
                return self._found(here, True)
        return self._found(here, False)

    def _found(self, here: Queries, settled: bool) -> Found:
        return Found(here, self.origin, settled, self.tried)

    def _nothing_left(self, values: Values) -> bool:
        """Near the bound; far below it the formula's waits are too long here, and it bounds nothing."""
        return self.bound * (1.0 - WRONG) <= values.value <= self.bound * (1.0 + CLOSE)

    def _best_start(self, starts: Mapping[str, Queries]) -> Valued:
        best: Valued | None = None
        for name, queries in starts.items():
            if best is None or (not self._nothing_left(best[1]) and math.isfinite(self._score(queries))):
                best = self._try(best, queries, name)
        if best is None:
            raise PlacementError("Search: there is no starting placement; give the formula's optimum.")
        return best

    def _try(self, best: Valued | None, queries: Queries, name: str) -> Valued:
        """The better one of ``best`` and ``queries``, by few jobs: a wrong start costs little."""
        values = self._values(queries, FEW)
        self.tried[name] = queries, values
        if best is not None:
            gain, error = values.less_than(best[1])
            if not gain > error:
                return best
        self.origin = name
        self.on_better(queries, values, name)
        return queries, values

    def _values(self, queries: Queries, samples: int) -> Values:
        self.check()
        self.limits.spend(self.judge.system, samples)
        values = self.judge.values(queries, samples, self.seed + 10 + 2 * self.turn + (samples > FEW))
        self.on_spent(self.limits.share_of(*self._whole))
        return values

    def _score(self, queries: Queries) -> float:
        prediction = predicted(self.judge, queries)
        if prediction is None or not prediction.network_utilization < _FULL:
            return math.inf
        return prediction.jct_s

    def _likely(self, here: Queries, groups: tuple[Group, ...]) -> list[Queries]:
        """The placements after the moves that are not hopeless, best score first."""
        limit = self._score(here) * (1 + SLACK)
        tried = [
            moved(here, group, column)
            for group in groups
            for column in dict.fromkeys((*group.columns, *simpler(group, here)))
        ]
        scored = [(self._score(new), number, new) for number, new in enumerate(tried)]
        self.limits.spend_scores(len(scored))
        scored = sorted((s for s in scored if s[0] <= limit), key=lambda s: s[:2])
        kept: list[Queries] = []
        for _, _, new in scored:
            if len(kept) == WIDTH:
                break
            if not same(new, here) and not any(same(new, other) for other in kept):
                kept.append(new)
        return kept

    def _step(self, here: Queries, groups: tuple[Group, ...]) -> Valued | None:
        self.turn += 1
        now = self._values(here, FEW)
        gains = []
        for number, new in enumerate(self._likely(here, groups)):
            if self.limits.reached:
                break
            gains.append((self._values(new, FEW).less_than(now)[0], -number, new))
        gains = sorted((g for g in gains if g[0] > 0), key=lambda g: g[:2], reverse=True)
        sure = self._values(here, MANY) if gains else None
        for _, _, new in gains[:TRIED]:
            if sure is not None:
                values = self._values(new, MANY)
                gain, error = values.less_than(sure)
                if gain > SURE * error and gain > 0:
                    return new, values
        return None


def predicted(judge: Judge, queries: Queries) -> Prediction | None:
    """By formula; ``None`` where it has no steady state."""
    try:
        return predict(judge.system, queries, judge.shares, judge.known)
    except NonaError:
        return None


EVALUATIONS = 160
WORK_S = {"mean-jct": 3.0, "slo": 30.0}  # about how long the search may take, by estimate
ACCURACY = 0.1  # of the prediction, relative: placements nearer than this are rivals

Improved = Callable[[Placement], None]


def choose_placement(
    system: System,
    optimum: Placement,
    objective: SampledObjective = "mean-jct",
    *,
    evaluations: int = EVALUATIONS,
    work_s: float | None = None,
    seed: int = 0,
    check: Callable[[], None] = lambda: None,
    on_better: Improved = lambda placement: None,
    on_spent: Callable[[float], None] = lambda share: None,
) -> Placement:
    """The best placement by sampled jobs, from the formula's optimum and fixed placements.

    ``optimum``: what :func:`nona.placement.solve.solve` found: the first start, with the bound from below.
    ``objective``: ``mean-jct``: the least mean; ``slo``: the least probability of missing the SLO.
    ``evaluations``, ``work_s``: the most placements that are sampled, and about how many seconds of one core
        that may take.
    ``check``: called before every evaluation; what it raises ends the search and comes out.
    ``on_better``: called with every placement that is the best so far, judged by few jobs.
    ``on_spent``: called after every evaluation with the share of the search's limit that is spent, 0 to 1.

    Returns ``objective_s`` is the response's mean with standard error ``objective_error_s``; ``formula``
    holds objective and bound of the formula's optimum, ``sampled`` the figures of the search.

    Raises ``PlacementError`` without an SLO to keep, or for an unknown objective.
    """
    if objective not in SAMPLED:
        raise PlacementError(f"Objective {objective!r} must be one of {', '.join(SAMPLED)}; choose one.")
    began = time.perf_counter()
    judge = Judge(system, objective, optimum.class_shares)
    first = rows(optimum.queries)
    limits = Limits(evaluations, WORK_S[objective] if work_s is None else work_s)
    search = _search(optimum, judge, limits, seed, check, on_better, on_spent)
    outcome = search.run(starts(system, first), lambda: groups_of(system, optimum))
    final = _final(judge, first, outcome, seed)
    sampled = _sampled(judge, outcome, final)
    is_mean = objective == "mean-jct"
    values = final.values if is_mean else mean_of(system, optimum, final.queries, seed)
    return replace(
        judged(system, optimum, final.queries, values, final.origin),
        seconds=optimum.seconds + time.perf_counter() - began,
        notes=(_note(sampled, optimum), *optimum.notes),
        sampled=sampled,
    )


def _search(
    optimum: Placement,
    judge: Judge,
    limits: Limits,
    seed: int,
    check: Callable[[], None],
    on_better: Improved,
    on_spent: Callable[[float], None],
) -> Search:
    """Search, and report better placements if they are judged by the mean."""
    is_mean = judge.objective == "mean-jct"

    def tell(queries: Queries, values: Values, origin: str) -> None:
        if is_mean:
            on_better(judged(judge.system, optimum, queries, values, origin))

    bound = optimum.lower_bound_s if is_mean else judge.bound()
    return Search(judge, limits, seed, bound=bound, check=check, on_better=tell, on_spent=on_spent)


@dataclass(frozen=True, eq=False)
class _Final:
    """Chosen placement; ``gain`` over the formula's optimum, and its standard error."""

    queries: Queries
    origin: str
    values: Values
    formula_value: float
    gain: tuple[float, float]


def _final(judge: Judge, first: Queries, outcome: Found, seed: int) -> _Final:
    """The search's placement if on new samples it is significantly better, else the formula's optimum."""

    def worth(queries: Queries) -> Values:
        return judge.worth(walked(judge.system, queries, judge.shares, seed))

    own = worth(first)
    if same(outcome.queries, first):
        return _Final(first, "formula", own, own.value, (0.0, 0.0))
    values = worth(outcome.queries)
    gain, error = values.less_than(own)
    if not gain > SURE * error:
        return _Final(first, "formula", own, own.value, (0.0, 0.0))
    return _Final(outcome.queries, outcome.origin, values, own.value, (gain, error))


def _sampled(judge: Judge, outcome: Found, final: _Final) -> Sampled:
    gain, gain_error = final.gain
    return Sampled(
        judge.objective, final.values.value, final.values.error, judge.bound(), final.formula_value, gain,
        gain_error, judge.by_class(final.values), judge.asked, FINAL, outcome.settled, final.origin,
        _rivals(outcome, final),
    )  # fmt: skip


def _rivals(outcome: Found, final: _Final) -> tuple[Rival, ...]:
    """Starts near the final value, and in any case local and the best preset.

    Where jobs come back to a server behind others' long visits, sampled jobs see less than half of the wait
    (``docs/joins.md``): then what they prefer can be far worse than local.
    """
    tried = [
        Rival(name, queries, values.value)
        for name, (queries, values) in outcome.tried.items()
        if math.isfinite(values.value) and not same(queries, final.queries)
    ]
    tried.sort(key=lambda rival: rival.value)
    by_hand = [r for r in tried if r.origin in PRESETS or r.origin == "expert"][:1]
    always = [r for r in tried if r.origin == "local"] + by_hand
    near = [r for r in tried if r.value <= final.values.value * (1 + ACCURACY)]
    return tuple(dict.fromkeys((*always, *near)))


def has_large_interior(system: System) -> bool:
    """Return whether a sub-graph has more tasks than all its configurations can be listed for."""
    return any(len(s.interior) > ENUMERATED for q in system.queries for s in q.decomposition.subgraphs)


def local_answer(system: System) -> Placement:
    """Everything local, judged by few sampled jobs: an answer to have while the formula is solved."""
    local = local_placement(system)
    values = Judge(system, "mean-jct", local.class_shares).values(rows(local.queries), FEW, 1)
    return judged(system, local, rows(local.queries), values, "local")


def judged(system: System, optimum: Placement, queries: Queries, values: Values, origin: str) -> Placement:
    """``queries`` as a placement: its objective the mean by sampled jobs, its bound that of the formula."""
    placement = replace(
        optimum,
        queries=queries,
        prediction=predicted(Judge(system, "mean-jct", optimum.class_shares), queries) or optimum.prediction,
        objective_s=values.value,
        objective_error_s=values.error,
        formula=certificate_of(optimum),
        origin=origin,
    )
    return bounded(system, placement)


def _note(sampled: Sampled, optimum: Placement) -> str:
    what = "the probability of missing an SLO" if sampled.objective == "slo" else "the mean JCT"
    bounded_below = not math.isnan(optimum.lower_bound_s)
    formula = "the formula's optimum" if bounded_below else "the formula's proposal"
    if sampled.origin == "formula":
        return (
            f"Judged by sampled jobs for {what}: no other candidate is significantly better than {formula}."
        )
    return (
        f"Judged by sampled jobs for {what}: preferred to {formula}. The search gives no proof; the notes "
        f"below are about {formula}{' and its bound' if bounded_below else ''}."
    )
