"""The search: from the best of a few placements, one move after the other, as long as samples are sure.

In a round every move is predicted by formula, the most promising ones by few sampled jobs, and the best of
these by more, with random numbers of their own: a move is taken if it is better by more than
:data:`SURE` standard errors there. The search ends when no move is, or at its limit. The result is judged
on samples that the search has not seen, beside the certified placement; if it is not better, the latter
stays.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from nona.errors import NonaError, PlacementError
from nona.placement.placement import Placement, Prediction
from nona.placement.prediction import predict
from nona.placement.slo.choices import Group, everywhere, groups_of, moves
from nona.placement.slo.judge import Judge, Queries, Values, rows
from nona.placement.slo.outcome import OBJECTIVES, Objective, Sampled
from nona.system import System

SURE = 2.0  # standard errors
FEW, MANY, FINAL = 512, 2048, 4096  # walked jobs of each class
WIDTH = 24  # moves that are sampled in a round
TRIED = 3  # of them that are looked at again
EVALUATIONS = 160
SLACK = 0.5  # a move whose mean JCT by formula is worse by more than this share is not sampled
_FULL = 0.98  # of the link: there samples would show a queue that never ends


def solve_sampled(
    system: System,
    placement: Placement,
    objective: Objective = "slo",
    *,
    evaluations: int = EVALUATIONS,
    seed: int = 0,
    check: Callable[[], None] = lambda: None,
) -> Placement:
    """Improve a placement by sampled completion times.

    Parameters
    ----------
    placement
        Where the search starts, and what it is compared with: usually the certified one.
    objective
        ``slo``: the least probability of missing the SLO; ``sampled-jct``: the least mean.
    evaluations
        The most placements that are sampled.

    Returns
    -------
    Placement
        With ``sampled`` filled in. ``objective_s`` is its mean JCT by formula. The global bound on that
        holds for every placement; the lower bound, at the certified one's server wait, is left out
        where the placement has changed.

    Raises
    ------
    PlacementError
        Without an SLO to keep, or for an unknown objective.
    """
    if objective not in OBJECTIVES[1:]:
        raise PlacementError(
            f"Objective {objective!r} must be one of {', '.join(OBJECTIVES[1:])}; choose one."
        )
    began = time.perf_counter()
    judge = Judge(system, objective, placement.class_shares)
    search = _Search(judge, groups_of(system, placement), evaluations, seed, check)
    found, settled = search.run(rows(placement.queries))
    own = judge.values(rows(placement.queries), FINAL, seed + 1)
    values = judge.values(found, FINAL, seed + 1)
    gain, error = values.less_than(own)
    if not gain > SURE * error:
        found, values, gain, error = rows(placement.queries), own, 0.0, 0.0
    sampled = Sampled(
        objective, values.value, values.error, judge.bound(), own.value, gain, error,
        judge.by_class(values), judge.asked, FINAL, settled,
    )  # fmt: skip
    prediction = _predicted(judge, found) or placement.prediction
    moved = gain > 0
    return replace(
        placement,
        queries=found,
        prediction=prediction,
        objective_s=prediction.jct_s,
        lower_bound_s=math.nan if moved else placement.lower_bound_s,
        solver=f"{placement.solver}, then {objective}",
        seconds=placement.seconds + time.perf_counter() - began,
        notes=(_note(sampled, moved), *placement.notes),
        sampled=sampled,
    )


class _Search:
    """A search under way: what it may change, how many evaluations are left."""

    def __init__(
        self, judge: Judge, groups: tuple[Group, ...], evaluations: int, seed: int, check: Callable[[], None]
    ) -> None:
        self.judge, self.groups, self.limit, self.seed, self.check = judge, groups, evaluations, seed, check
        self.turn = 0

    def run(self, start: Queries) -> tuple[Queries, bool]:
        """The best placement found, and whether nothing better was left to find."""
        here = self._best_start(start)
        while self.judge.asked < self.limit:
            step = self._step(here)
            if step is None:
                return here, True
            here = step
        return here, False

    def _best_start(self, start: Queries) -> Queries:
        system = self.judge.system
        starts = [start, *(everywhere(system, self.groups, local) for local in (True, False))]
        values = [(self._values(s, MANY), s) for s in starts if s is start or self._jct(s) < math.inf]
        first = values[0]
        for other in values[1:]:
            gain, error = other[0].less_than(first[0])
            first = other if gain > error else first  # a wrong start costs little: the end is judged anew
        return first[1]

    def _values(self, queries: Queries, samples: int) -> Values:
        self.check()
        return self.judge.values(queries, samples, self.seed + 10 + 2 * self.turn + (samples > FEW))

    def _jct(self, queries: Queries) -> float:
        found = _predicted(self.judge, queries)
        return found.jct_s if found is not None and found.network_utilization < _FULL else math.inf

    def _likely(self, here: Queries) -> Iterator[tuple[float, Queries]]:
        """(mean JCT by formula, placement) of the moves that are not hopeless by formula."""
        limit = self._jct(here) * (1 + SLACK)
        for move in moves(self.groups):
            new = move.of(here)
            jct_s = self._jct(new)
            if jct_s <= limit:
                yield jct_s, new

    def _step(self, here: Queries) -> Queries | None:
        """The best move that is surely better; ``None`` if there is none."""
        self.turn += 1
        likely = sorted(self._likely(here), key=lambda found: found[0])[:WIDTH]
        now = self._values(here, FEW)
        gains = []
        for number, (_, new) in enumerate(likely):
            if self.judge.asked >= self.limit:
                break
            gains.append((self._values(new, FEW).less_than(now)[0], -number, new))
        gains.sort(key=lambda g: g[:2], reverse=True)
        sure = self._values(here, MANY) if gains else None
        for gain, _, new in gains[:TRIED]:
            if sure is not None and gain > 0:
                found, error = self._values(new, MANY).less_than(sure)
                if found > SURE * error and found > 0:
                    return new
        return None


def _predicted(judge: Judge, queries: Queries) -> Prediction | None:
    """By formula; ``None`` where it has no steady state."""
    try:
        return predict(judge.system, queries, judge.shares)
    except NonaError:
        return None


def _note(found: Sampled, moved: bool) -> str:
    what = "the probability of missing an SLO" if found.objective == "slo" else "the mean JCT"
    if not moved:
        return (
            f"Sampled completion times were searched for a placement with less of {what} and found none that "
            "surely has: this is the one with the least mean by formula."
        )
    return (
        f"Sampled completion times were searched for the least of {what}, which is not certified; notes "
        "below are on the placement with the least mean by formula, from which the search set out."
    )
