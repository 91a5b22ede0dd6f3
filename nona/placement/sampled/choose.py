"""Choose a placement by sampled completion times: the default of the program.

The formula's optimum is certified for the formula: mean waits, and at a join the maximum of means. What is
chosen here is judged by the response (jobs walked among random waits), beside the placements that a person
would try by hand, and improved by a search. The formula's bound stays as the bound from below: the mean of
a maximum is at least the maximum of the means (Jensen), so waits of the same means cannot make it shorter.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from nona.errors import PlacementError
from nona.placement.configurations.labels import ENUMERATED
from nona.placement.fixed.local_and_spread import local_placement
from nona.placement.fixed.presets import PRESETS
from nona.placement.result.configuration import Queries
from nona.placement.result.placement import SAMPLED, Placement, Rival, Sampled, SampledObjective
from nona.placement.sampled.judge import Judge, Values, rows
from nona.placement.sampled.moves import groups_of
from nona.placement.sampled.reported import FINAL, bounded, certificate_of, mean_of, walked
from nona.placement.sampled.search import FEW, SURE, Found, Limits, Search, predicted
from nona.placement.sampled.starts import same, starts
from nona.system import System

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
    """The best placement by sampled jobs, from the formula's optimum, fixed placements and mixtures.

    Parameters
    ----------
    optimum
        What :func:`nona.placement.solve.solve` found: the first start, with the bound from below.
    objective
        ``mean-jct``: the least mean; ``slo``: the least probability of missing the SLO.
    evaluations, work_s
        The most placements that are sampled, and about how many seconds of one core that may take.
    check
        Called before every evaluation; what it raises ends the search and comes out.
    on_better
        Called with every placement that is the best so far, judged by few jobs.
    on_spent
        Called after every evaluation with the share of the search's limit that is spent, 0 to 1.

    Returns
    -------
    Placement
        ``objective_s`` is the response's mean with standard error ``objective_error_s``; ``formula`` holds
        objective and bound of the formula's optimum, ``sampled`` the figures of the search.

    Raises
    ------
    PlacementError
        Without an SLO to keep, or for an unknown objective.
    """
    if objective not in SAMPLED:
        raise PlacementError(f"Objective {objective!r} must be one of {', '.join(SAMPLED)}; choose one.")
    began = time.perf_counter()
    judge = Judge(system, objective, optimum.class_shares)
    first = rows(optimum.queries)
    limits = Limits(evaluations, WORK_S[objective] if work_s is None else work_s)
    search = _search(optimum, judge, limits, seed, check, on_better, on_spent)
    found = search.run(starts(system, first), lambda: groups_of(system, optimum))
    final = _final(judge, first, found, seed)
    sampled = _sampled(judge, found, final)
    is_mean = objective == "mean-jct"
    values = final.values if is_mean else mean_of(system, optimum, final.queries, seed)
    return replace(
        judged(system, optimum, final.queries, values, final.origin),
        seconds=optimum.seconds + time.perf_counter() - began,
        notes=(_note(sampled), *optimum.notes),
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
    """The search, which tells of better placements where they are judged by the mean."""
    is_mean = judge.objective == "mean-jct"

    def tell(queries: Queries, values: Values, origin: str) -> None:
        if is_mean:
            on_better(judged(judge.system, optimum, queries, values, origin))

    bound = optimum.lower_bound_s if is_mean else judge.bound()
    return Search(judge, limits, seed, bound=bound, check=check, on_better=tell, on_spent=on_spent)


@dataclass(frozen=True, eq=False)
class _Final:
    """What is chosen in the end; ``gain`` over the formula's optimum, and its standard error."""

    queries: Queries
    origin: str
    values: Values
    formula_value: float
    gain: tuple[float, float]


def _final(judge: Judge, first: Queries, found: Found, seed: int) -> _Final:
    """The search's placement if on new samples it is significantly better, else the formula's optimum."""

    def worth(queries: Queries) -> Values:
        return judge.worth(walked(judge.system, queries, judge.shares, seed))

    own = worth(first)
    if same(found.queries, first):
        return _Final(first, "formula", own, own.value, (0.0, 0.0))
    values = worth(found.queries)
    gain, error = values.less_than(own)
    if not gain > SURE * error:
        return _Final(first, "formula", own, own.value, (0.0, 0.0))
    return _Final(found.queries, found.origin, values, own.value, (gain, error))


def _sampled(judge: Judge, found: Found, final: _Final) -> Sampled:
    """The figures of the search for the report."""
    gain, gain_error = final.gain
    return Sampled(
        judge.objective, final.values.value, final.values.error, judge.bound(), final.formula_value, gain,
        gain_error, judge.by_class(final.values), judge.asked, FINAL, found.settled, final.origin,
        _rivals(found, final),
    )  # fmt: skip


def _rivals(found: Found, final: _Final) -> tuple[Rival, ...]:
    """Starts near the final value, and in any case local and the best preset.

    Where jobs come back to a server behind others' long visits, sampled jobs see less than half of the wait
    (``docs/joins.md``): then what they prefer can be far worse than local.
    """
    tried = [
        Rival(name, queries, values.value)
        for name, (queries, values) in found.tried.items()
        if math.isfinite(values.value) and not same(queries, final.queries)
    ]
    tried.sort(key=lambda rival: rival.value)
    by_hand = [r for r in tried if r.origin in PRESETS or r.origin == "expert"][:1]
    always = [r for r in tried if r.origin == "local"] + by_hand
    near = [r for r in tried if r.value <= final.values.value * (1 + ACCURACY)]
    return tuple(dict.fromkeys((*always, *near)))


def has_large_interior(system: System) -> bool:
    """Whether a sub-graph has more tasks than all its configurations can be listed for."""
    return any(len(s.interior) > ENUMERATED for q in system.queries for s in q.decomposition.subgraphs)


def local_answer(system: System) -> Placement:
    """Everything local, judged by few sampled jobs: an answer to have while the formula is solved."""
    local = local_placement(system)
    values = Judge(system, "mean-jct", local.class_shares).values(rows(local.queries), FEW, 1)
    return judged(system, local, rows(local.queries), values, "local")


def judged(system: System, optimum: Placement, queries: Queries, values: Values, origin: str) -> Placement:
    """``queries`` as a placement: its objective the mean by sampled jobs, its bound that of the formula."""
    made = replace(
        optimum,
        queries=queries,
        prediction=predicted(Judge(system, "mean-jct", optimum.class_shares), queries) or optimum.prediction,
        objective_s=values.value,
        objective_error_s=values.error,
        formula=certificate_of(optimum),
        origin=origin,
    )
    return bounded(system, made)


def _note(found: Sampled) -> str:
    what = "the probability of missing an SLO" if found.objective == "slo" else "the mean JCT"
    if found.origin == "formula":
        return (
            f"Judged by sampled jobs for {what}: no other candidate is significantly better than the "
            "formula's optimum."
        )
    return (
        f"Judged by sampled jobs for {what}: preferred to the formula's optimum. The search gives no proof; "
        "the notes below are about the formula's optimum and its bound."
    )
