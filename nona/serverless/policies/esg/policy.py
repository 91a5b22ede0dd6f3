"""ESG: the SLO split over groups of stages, then a search before each stage.

The *average normalised length* of a stage is the mean over all configurations of its time as a share of
the times of all stages in that configuration. The DAG is reduced to a chain: what lies between two
consecutive dominators becomes a pseudo-node, as long as its longest branch; branches are reduced in the
same way. Stages that follow each other in a chain form groups of at most g; a group's share of the SLO is
its part of the chain's length, and every branch inherits the share of its pseudo-node. Where neither
dominators nor components part a piece any further, its levels become the chain, so that no path through it
gets more than its share. While a call runs, what is *left* of its SLO is distributed over what is left.

Source: Hui et al., ESG, HPDC 2024, as its slides describe it (dominator tree, groups, shares); the formula
of the length and the treatment of pieces that do not nest are ours.

The search (:mod:`~nona.serverless.policies.esg.search`) gives the k cheapest paths of configurations for the
stage and what follows it in its group, no two of which begin alike; the first configurations of these paths
are the configuration priority queue. Only the stage at hand takes its configuration from it: the next one
searches again, with what is then left of the SLO. Without ``replan`` all stages keep what was planned at
the first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import floor, inf
from typing import Any

import numpy as np

from nona.core.arrays import Floats
from nona.core.options import Options, PolicyOption
from nona.core.registry import ChartStyle
from nona.models.decomposition import VIRTUAL, decompose
from nona.models.graph.dag import Dag
from nona.scenario.serverless import LATE
from nona.serverless.policies.base import BatchPlan, ConfigurationPolicy, Place, WaitingQueue
from nona.serverless.policies.choices import CarriedPlans, profile_s, profiled
from nona.serverless.policies.esg.search import GroupSearch, Scratch, SearchResult
from nona.serverless.sharing import holdable
from nona.serverless.system import ServerlessSystem


@dataclass(frozen=True, slots=True)
class Fork:
    """A pseudo-node: branches that run side by side, each a chain."""

    branches: tuple[StageChain, ...]


#: A chain of stages, by number, and of pseudo-nodes.
StageChain = tuple[int | Fork, ...]


@dataclass(frozen=True)
class SloShares:
    """Groups and shares of one application; S stages.

    ``chain``: the reduced DAG.
    ``group``: of each stage: the stages of its group from it on, which are searched together.
    ``length`` (S,): average normalised lengths.
    ``scaled`` (S,): the same within branches scaled so that each is as long as its pseudo-node.
    ``rest`` (S,): scaled length from a stage to the end of the application.
    """

    chain: StageChain
    group: tuple[tuple[int, ...], ...]
    length: Floats
    scaled: Floats
    rest: Floats

    def of_slo(self, stages: Sequence[int]) -> float:
        """Share of the whole SLO that ``stages`` of one group get."""
        return float(self.scaled[list(stages)].sum() / self.rest.max())

    def of_rest(self, stage: int) -> float:
        """Return the share of the time left at ``stage`` that the rest of its group gets."""
        return float(min(1.0, self.scaled[list(self.group[stage])].sum() / self.rest[stage]))


def average_normalised_lengths(time_s: Floats) -> Floats:
    """(S,) lengths from the times (S, C) of the stages; they add up to 1.

    Configurations in which some stage cannot run are left out.

    >>> average_normalised_lengths(np.array([[1.0, 2.0], [3.0, 2.0]])).tolist()
    [0.375, 0.625]
    """
    finite = time_s[:, np.isfinite(time_s).all(axis=0)]
    lengths: Floats = (finite / finite.sum(axis=0)).mean(axis=1)
    return lengths


def distribute(dag: Dag, length: Floats, most: int = 3) -> SloShares:
    """Return groups of at most ``most`` stages and their shares, for stages of the lengths given.

    >>> diamond = Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    >>> shares = distribute(diamond, np.array([0.2, 0.4, 0.1, 0.3]))
    >>> shares.chain
    (0, Fork(branches=((1,), (2,))), 3)
    >>> round(shares.of_slo([1]), 9) == round(shares.of_slo([2]), 9) == round(0.4 / 0.9, 9)
    True
    """
    chain = reduced(dag)
    group: list[tuple[int, ...]] = [()] * len(dag)
    scaled, rest = np.zeros(len(dag)), np.zeros(len(dag))
    _share(chain, 1.0, 0.0, length, scaled, rest)
    _group(chain, most, group)
    return SloShares(chain, tuple(group), length, scaled, rest)


def reduced(dag: Dag) -> StageChain:
    """Return the DAG as a chain of stages and pseudo-nodes. O(depth · (S + arcs) log S).

    >>> reduced(Dag.from_edges(5, [(0, 1), (0, 2), (1, 3), (3, 4), (2, 4)]))
    (0, Fork(branches=((1, 3), (2,))), 4)
    >>> reduced(Dag.from_edges(4, [(0, 2), (0, 3), (1, 3)]))
    (Fork(branches=((0,), (1,))), Fork(branches=((2,), (3,))))
    """
    return _reduced(dag, list(range(len(dag))))


def _reduced(whole: Dag, stages: list[int]) -> StageChain:
    """Return the chain of the DAG that ``stages`` span."""
    dag = _induced(whole, stages)
    decomposition = decompose(dag)
    chain: list[int | Fork] = []
    if decomposition.cuts and decomposition.cuts[0] != VIRTUAL:
        chain.append(stages[decomposition.cuts[0]])
    for piece in decomposition.subgraphs:
        if piece.interior:
            chain += _piece(whole, dag, stages, [int(v) for v in piece.interior])
        if piece.sink != VIRTUAL:
            chain.append(stages[piece.sink])
    return tuple(chain)


def _piece(whole: Dag, dag: Dag, stages: list[int], interior: list[int]) -> list[int | Fork]:
    """Split the stages between two dominators: components side by side; one that is all of it, by levels."""
    parts = _components(dag, interior)
    if len(parts) > 1:
        return [Fork(tuple(_reduced(whole, [stages[v] for v in part]) for part in parts))]
    if len(interior) < len(dag):
        return list(_reduced(whole, [stages[v] for v in interior]))
    return [_side_by_side([stages[v] for v in level]) for level in _levels(dag)]


def _side_by_side(stages: list[int]) -> int | Fork:
    return stages[0] if len(stages) == 1 else Fork(tuple((s,) for s in stages))


def _levels(dag: Dag) -> list[list[int]]:
    level = dag.levels()
    return [[v for v in range(len(dag)) if level[v] == k] for k in range(max(level) + 1)]


def _induced(dag: Dag, stages: list[int]) -> Dag:
    at = {s: i for i, s in enumerate(stages)}
    return Dag.from_edges(
        len(stages), [(at[s], at[t]) for s in stages for t in dag.successors[s] if t in at], dag.name
    )


def _components(dag: Dag, nodes: list[int]) -> list[list[int]]:
    """Nodes that hang together without the others, in increasing order."""
    left, parts = set(nodes), []
    for first in nodes:
        if first not in left:
            continue
        left.remove(first)
        part = [first]
        for v in part:  # the list grows while it is read
            near = [u for u in (*dag.predecessors[v], *dag.successors[v]) if u in left]
            left.difference_update(near)
            part += near
        parts.append(sorted(part))
    return parts


def _weight(element: int | Fork, length: Floats) -> float:
    if isinstance(element, Fork):
        return max(sum(_weight(e, length) for e in branch) for branch in element.branches)
    return float(length[element])


def _share(
    chain: StageChain, factor: float, after: float, length: Floats, scaled: Floats, rest: Floats
) -> None:
    """Fill ``scaled`` and ``rest`` for a chain scaled by ``factor`` with ``after`` behind it."""
    for element in reversed(chain):
        weight = factor * _weight(element, length)
        if isinstance(element, Fork):
            for branch in element.branches:
                own = sum(_weight(e, length) for e in branch)
                _share(branch, weight / own, after, length, scaled, rest)
            after += weight
        else:
            after += weight
            scaled[element], rest[element] = weight, after


def _group(chain: StageChain, most: int, group: list[tuple[int, ...]]) -> None:
    """Cut runs of stages into groups of at most ``most``; a pseudo-node ends a group."""
    run: list[int] = []
    for element in (*chain, Fork(())):
        if isinstance(element, Fork):
            for at, stage in enumerate(run):
                group[stage] = tuple(run[at : (at // most + 1) * most])
            run = []
            for branch in element.branches:
                _group(branch, most, group)
        else:
            run.append(element)


#: Seconds of one core per search, and per path looked at, as ``python -m benchmarks esg_search`` measures.
BASE_S, STEP_S = 2e-5, 1.5e-8
MEMO = 100_000  # answers that a planner remembers


@dataclass(frozen=True, slots=True)
class EsgOptions:
    """The options of ESG, described at :data:`POLICY`."""

    group: int
    k: int
    later_batches: str
    replan: bool
    step_s: float
    base_s: float
    slack_resolution: float


class EsgPlanner:
    """ESG for one system; see :data:`POLICY` for its options."""

    place: Place | None = None

    def __init__(self, system: ServerlessSystem, options: EsgOptions) -> None:
        self.system, self.options = system, options
        self.shares: tuple[SloShares, ...] = tuple(
            distribute(app.dag, average_normalised_lengths(profile_s(system, app)), options.group)
            for app in system.applications
        )
        self._sizes = sorted({c.batch for c in system.space.configurations})
        self._carried = None if options.replan else CarriedPlans(system)
        self._scratch = Scratch()
        self._share = [[x.of_rest(s) for s in range(len(x.group))] for x in self.shares]
        self._profiles = [profile_s(system, app) for app in system.applications]
        self._cost = profiled(system)[1]
        self._groups: dict[tuple[int, tuple[int, ...], int], GroupSearch] = {}
        self._enough: dict[tuple[int, int, int], float] = {}
        self._answers: dict[tuple[int, int, int, float], BatchPlan] = {}
        self._holdable = holdable(system)
        self._holdable[system.space.smallest] = True
        for application, shares in enumerate(self.shares):
            self.group(
                application, max(shares.group, key=len), self._sizes[0]
            )  # too large a group is refused

    def plan(self, ask: WaitingQueue) -> BatchPlan:
        """Return the k best first configurations of paths in time; that of the fastest path if none is."""
        if self._carried is not None and ask.carried is not None:
            return self._carried.answer(ask, ask.carried)
        batch = self.batch_limit(ask.length)
        slack_s = self.rounded_s(ask, batch)
        key = (ask.application, ask.stage, batch, slack_s)
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= MEMO:
                self._answers.clear()
            answer = self._plan(ask, batch, slack_s)
            self._answers[key] = answer
        if self._carried is not None and answer.memory is not None:
            return self._carried.answer(ask, answer.memory, answer.search_s, answer.steps)
        return answer

    def batch_limit(self, length: int) -> int:
        """Return the largest batch size that ``length`` jobs fill; the smallest of all if they fill none."""
        return self._sizes[max(0, bisect_right(self._sizes, length) - 1)]

    def group(self, application: int, stages: tuple[int, ...], batch: int) -> GroupSearch:
        """Return the search over ``stages`` of an application for a queue that fills ``batch``."""
        key = (application, stages, batch)
        if key not in self._groups:
            system = self.system
            functions = [system.applications[application].function[s] for s in stages]
            usable = np.tile(self._holdable, (len(stages), 1))
            limited = len(stages) if self.options.later_batches == "queue" else 1
            usable[:limited] &= system.space.batch <= batch
            self._groups[key] = GroupSearch(
                self._profiles[application][list(stages)], self._cost[functions], usable, self._scratch
            )
        return self._groups[key]

    def limit_s(self, ask: WaitingQueue, slack_s: float) -> float:
        """Seconds that the rest of the stage's group gets of ``slack_s``."""
        return slack_s * self._share[ask.application][ask.stage]

    def cheapest(self, application: int, stages: tuple[int, ...], batch: int, limit_s: float) -> SearchResult:
        """Search, with the answer for the case that no path is in time."""
        group, options = self.group(application, stages, batch), self.options
        answer = group.search(limit_s, options.k)
        if not answer.feasible and not LATE.find(self.system.dispatch.late).fastest:
            answer = replace(group.search(inf, options.k), feasible=False)
        return answer

    def rounded_s(self, ask: WaitingQueue, batch: int) -> float:
        """Return the slack, rounded down, and no further apart than answers can differ."""
        slack_s = max(0.0, ask.slack_s)
        if self._carried is None:
            slack_s = min(slack_s, self.enough_s(ask, batch))
        return self.on_grid_s(slack_s)

    def on_grid_s(self, slack_s: float) -> float:
        """Seconds rounded down to the resolution; what is on the grid stays there."""
        step = self.options.slack_resolution
        return step * floor(slack_s / step + 1e-6) if step > 0 else slack_s

    def enough_s(self, ask: WaitingQueue, batch: int) -> float:
        """With more slack than this nothing changes."""
        key = (ask.application, ask.stage, batch)
        if key not in self._enough:
            longest_s = self.group(ask.application, self.stages(ask), batch).longest_s
            step = self.options.slack_resolution
            self._enough[key] = longest_s / self._share[ask.application][ask.stage] + 2 * step
        return self._enough[key]

    def stages(self, ask: WaitingQueue) -> tuple[int, ...]:
        """Return the asked stage and its successors in its group."""
        return self.shares[ask.application].group[ask.stage]

    def _plan(self, ask: WaitingQueue, batch: int, slack_s: float) -> BatchPlan:
        answer = self.cheapest(ask.application, self.stages(ask), batch, self.limit_s(ask, slack_s))
        looked, carry = answer.looked, None
        if self._carried is not None:
            carry, more = self._whole(ask, batch, slack_s, answer)
            looked += more
        ranked = tuple([path[0] for path in answer.paths])
        search_s = self.options.base_s + looked * self.options.step_s
        return BatchPlan(ranked, search_s, looked, carry)

    def _whole(
        self, ask: WaitingQueue, batch: int, slack_s: float, own: SearchResult
    ) -> tuple[tuple[int, ...], int]:
        """Return configurations for all stages, planned now, and the paths looked at for the other groups."""
        shares = self.shares[ask.application]
        plan, looked = [self.system.space.smallest] * len(shares.group), 0
        inner = {s for stages in shares.group for s in stages[1:]}
        later = batch if self.options.later_batches == "queue" else self._sizes[-1]
        for head, stages in enumerate(shares.group):
            if head not in inner and stages != self.stages(ask):
                share = float(shares.scaled[list(stages)].sum() / shares.rest[ask.stage])
                limit_s = slack_s * min(1.0, share)
                answer = self.cheapest(ask.application, stages, later, limit_s)
                looked += answer.looked
                for stage, chosen in zip(stages, answer.paths[0], strict=True):
                    plan[stage] = chosen
        for stage, chosen in zip(self.stages(ask), own.paths[0], strict=True):
            plan[stage] = chosen
        return tuple(plan), looked


def _build(system: ServerlessSystem, options: Mapping[str, Any]) -> EsgPlanner:
    return EsgPlanner(system, EsgOptions(**{field.name: options[field.name] for field in fields(EsgOptions)}))


POLICY = ConfigurationPolicy(
    name="esg",
    title="ESG",
    summary=(
        "Before each stage, a best-first search with two blades for the cheapest configurations of the "
        "stages ahead that meet the rest of the SLO."
    ),
    source="Hui, Xu, Guo, Shen: ESG, HPDC 2024",
    adaptation=(
        "From slides and summaries. Ours are the formula of the average normalized length, ties, the batches "
        "of later stages, and the fallback if no path is in time. The time of the search is modeled."
    ),
    build=_build,
    settings={
        "group": PolicyOption(3, "Largest number of functions searched together.", least=1),
        "k": PolicyOption(
            5,
            "Length of the configuration priority queue: first configurations that a search returns.",
            least=1,
        ),
        "later_batches": PolicyOption(
            "queue",
            "Batches planned for later stages: at most the current queue (queue), or any.",
            words=("queue", "any"),
        ),
        "replan": PolicyOption(
            True, "Search before every stage (true), or once before the first and keep its plan (false)."
        ),
        "step_s": PolicyOption(
            STEP_S, "Seconds charged per path examined; by default as measured on one core."
        ),
        "base_s": PolicyOption(BASE_S, "Seconds charged per search in addition."),
        "slack_resolution": PolicyOption(
            1e-3, "Seconds to which the slack is rounded down before a search; 0: not at all."
        ),
    },
    style=ChartStyle("#6366f1", "solid", "circle"),
)


def esg_planner(system: ServerlessSystem, options: Options) -> EsgPlanner:
    """Return the planner, as the policy prepares it, for those who look into its search."""
    chosen = POLICY.chosen(options)
    return _build(POLICY.under(system, chosen), chosen)
