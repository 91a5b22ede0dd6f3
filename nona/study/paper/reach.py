"""Just below an edge: the load at which the formula gives a ratio to nona, and its relaxation time.

For placements that are fixed the mean completion time is known for every load, however near to the edge:
T(b) = compute + transfer + visits · W_c + messages · W_n(b), W_n(b) = M(b) / (2(1 − ρ(b))). So the load b at
which T reaches ``claim`` times that of nona follows by bisection. The queue of the link forgets where it
began within about the relaxation time 4 W_n / (1 − ρ): that of a Brownian motion with drift −(1 − ρ)
and variance M, reflected at 0, which is 2M/(1 − ρ)². A run must be many times as long to see the mean.

Source of the relaxation time: Abate and Whitt, Transient behavior of regulated Brownian motion, I,
Advances in Applied Probability 19, 1987 (recollected; derived in ``docs/paper-evaluation.md``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from nona.placement.fixed.local_and_spread import spread_placement
from nona.placement.fixed.presets import idle_presets, place_fixed
from nona.placement.formula.prediction import predict
from nona.placement.result.configuration import SubGraphPlacement
from nona.placement.result.prediction import Prediction
from nona.results.studies.paper import Reach
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study.preparation import Study, prepare
from nona.study.simulating.run import place
from nona.study.sweeps.numbers import LINK, with_value
from nona.system import System

Queries = Sequence[Sequence[SubGraphPlacement]]
_HALVINGS = 45
_MOST = 0.999


def _expert(study: Study) -> Queries:
    system = study.system
    chosen = zip(system.queries, idle_presets(system), strict=True)
    return [place_fixed(system, query, preset) for query, preset in chosen]


FIXED: Mapping[str, Callable[[Study], Queries]] = {
    "spread": lambda study: spread_placement(study.system).queries,
    "expert": _expert,
}


def reach(scenario: Scenario, sources: Sources, claim: float) -> list[Reach]:
    """For each of :data:`FIXED`: the link background at which the formula's ratio to nona is ``claim``.

    nona's placement is the one solved at the edge, held while the load is looked for.
    """
    names = {s.name for s in scenario.schedulers}
    return [_reach(scenario, sources, claim, name) for name in FIXED if name in names]


def _reach(scenario: Scenario, sources: Sources, claim: float, name: str) -> Reach:
    start = prepare(with_value(scenario, LINK, 0.0), sources)
    queries = FIXED[name](start)
    edge = 1.0 - predict(start.system, queries).network_utilization
    solved = place(prepare(with_value(scenario, LINK, min(edge, _MOST)), sources)).queries

    def both(room: float) -> tuple[Prediction, Prediction]:
        system = _loaded(start.system, edge - room)
        return predict(system, queries), predict(system, solved)

    low, high = 1e-13, edge  # of the room left below the edge; halved by ratio, as it spans decades
    for _ in range(_HALVINGS):
        room = math.sqrt(low * high)
        theirs, ours = both(room)
        low, high = (room, high) if theirs.jct_s >= claim * ours.jct_s else (low, room)
    theirs, ours = both(low)
    spare = 1.0 - theirs.network_utilization
    relaxation_s = 4.0 * theirs.network_wait_s / spare
    rate = sum(q.rate for q in start.system.queries)
    return Reach(
        scheduler=name,
        edge=edge,
        at=edge - low,
        room=low,
        ratio=theirs.jct_s / ours.jct_s,
        jct_s=theirs.jct_s,
        nona_jct_s=ours.jct_s,
        link_wait_s=theirs.network_wait_s,
        relaxation_s=relaxation_s,
        jobs=relaxation_s * rate,
    )


def _loaded(system: System, load: float) -> System:
    """The system with another share of its link taken by background traffic."""
    stream = system.background_network
    rate = load * system.capacity / stream.mean
    return replace(system, background_network=replace(stream, rate=rate))
