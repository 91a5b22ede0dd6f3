"""ESG's search in plain Python, step by step, in words.

A step takes one path off the heap. If it is full, it is the next best one; else its first extension that
no blade cuts is opened. Then the next path beside it, with a dearer last configuration, is opened.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf, prod
from typing import NamedTuple

from nona.core.units import format_number
from nona.scenario.serverless import LATE
from nona.serverless.policies.base import WaitingQueue
from nona.serverless.policies.esg.policy import EsgPlanner
from nona.serverless.policies.esg.tables import GroupTables

SHOWN = 12  # configurations that a row names


class ExtensionRow(NamedTuple):
    """Extensions of one path that were looked at in a step, cheapest first.

    ``opened``: the configuration that went on the heap, −1 for none.
    ``time_cut``: the first configurations that the time blade cut, and ``time_cuts`` how many; ``cost_cuts``:
        how many the cost blade cut, all that were left in the row.
    """

    looked: int
    opened: int
    time_cut: tuple[int, ...]
    time_cuts: int
    cost_cuts: int


class HeapStep(NamedTuple):
    """One path off the heap.

    ``path``: its configurations; ``t_low_s``, ``rsc_low_usd``: no completion is faster, or cheaper;
    ``best``: which of the best full paths it is, from 1, 0 if it is none; ``deeper``, ``beside``: the
    rows opened; ``bound_usd``: the k-th best known completion after the step, infinite with fewer;
    ``bound_fell``: whether the k best known completions changed. Paths off the heap that begin with a
    configuration that has its answer are dropped, and are no steps.
    """

    path: tuple[int, ...]
    t_low_s: float
    rsc_low_usd: float
    best: int
    deeper: ExtensionRow | None
    beside: ExtensionRow
    bound_usd: float
    bound_fell: bool


@dataclass(frozen=True)
class SearchTrace:
    """A search: its first steps, their number, and sums over all of them.

    ``start`` is the row before the first step. ``paths``, ``cost_usd``, ``time_s``: the answer; empty if
    no path is in time.
    """

    start: ExtensionRow | None
    steps: tuple[HeapStep, ...]
    step_count: int
    looked: int
    opened: int
    time_cuts: int
    cost_cuts: int
    paths: tuple[tuple[int, ...], ...]
    cost_usd: tuple[float, ...]
    time_s: tuple[float, ...]


def trace(tables: GroupTables, limit_s: float, k: int, most: int = 60) -> SearchTrace:
    """Search as :mod:`~nona.serverless.policies.esg.searches` does, and keep the first ``most`` steps."""
    return _Search(tables, limit_s + tables.grace_s, k).run(most)


class _Search:
    """The state of one search; entries of the heap are (rscLow, tLow, code, function, rank)."""

    def __init__(self, tables: GroupTables, limit: float, k: int) -> None:
        self.t, self.limit, self.k = tables, limit, k
        self.cost, self.time = tables.cost.tolist(), tables.time.tolist()
        self.number, self.unit = tables.number.tolist(), tables.unit.tolist()
        self.least_s, self.least_usd = tables.least_s.tolist(), tables.least_usd.tolist()
        self.fast_usd, self.fast_code = tables.fast_usd.tolist(), tables.fast_code.tolist()
        self.choices = tables.choices.tolist()
        self.heap: list[tuple[float, float, int, int, int]] = []
        self.completions: list[tuple[float, float, int]] = []
        self.answered: set[int] = set()
        self.looked = self.opened = self.time_cuts = self.cost_cuts = 0

    def run(self, most: int) -> SearchTrace:
        paths: list[tuple[float, float, int]] = []
        steps: list[HeapStep] = []
        count, start = 0, None
        if self.least_s[0] <= self.limit:
            self._note((self.fast_usd[0], self.least_s[0], self.fast_code[0]))
            start = self._open(0, 0, 0.0, 0.0, 0)
        while self.heap and len(paths) < self.k:
            _, _, code, i, _ = self.heap[0]
            if i and code // self.unit[0] in self.answered:
                heappop(self.heap)
                continue
            step = self._step(paths)
            count += 1
            if count <= most:
                steps.append(step)
        return SearchTrace(
            start,
            tuple(steps),
            count,
            self.looked,
            self.opened,
            self.time_cuts,
            self.cost_cuts,
            tuple(self.t.path(code) for _, _, code in paths),
            tuple(cost for cost, _, _ in paths),
            tuple(time for _, time, _ in paths),
        )

    def _step(self, answers: list[tuple[float, float, int]]) -> HeapStep:
        low_usd, low_s, code, i, rank = heappop(self.heap)
        before = list(self.completions)
        cost, time = low_usd - self.least_usd[i + 1], low_s - self.least_s[i + 1]
        deeper, best = None, 0
        if i == len(self.choices) - 1:
            answers.append((cost, time, code))
            self.answered.add(code // self.unit[0])
            best = len(answers)
        else:
            deeper = self._open(i + 1, 0, cost, time, code)
        shorter = code - (self.number[i][rank] + 1) * self.unit[i]
        beside = self._open(i, rank + 1, cost - self.cost[i][rank], time - self.time[i][rank], shorter)
        path = self.t.path(code)[: i + 1]
        return HeapStep(
            path, low_s, low_usd, best, deeper, beside, self._bound_usd(), self.completions != before
        )

    def _bound_usd(self) -> float:
        return self.completions[-1][0] if len(self.completions) == self.k else float("inf")

    def _note(self, completion: tuple[float, float, int]) -> None:
        """Enter a completion into the k best known, of which no two begin alike."""
        unit = self.unit[0]
        alike = [c for c in self.completions if c[2] // unit == completion[2] // unit]
        if alike and alike[0] <= completion:
            return
        self.completions = [c for c in self.completions if c not in alike]
        insort(self.completions, completion)
        del self.completions[self.k :]

    def _open(self, i: int, rank: int, cost: float, time: float, code: int) -> ExtensionRow:
        """Put the first extension at ``rank`` or behind that no blade cuts on the heap."""
        cut: list[int] = []
        looked = cost_cuts = 0
        opened = -1
        while rank < self.choices[i]:
            looked += 1
            low_s = time + self.time[i][rank] + self.least_s[i + 1]
            if low_s > self.limit:
                cut.append(self.number[i][rank])
                rank += 1
                continue
            paid = cost + self.cost[i][rank]
            longer = code + (self.number[i][rank] + 1) * self.unit[i]
            low = (paid + self.least_usd[i + 1], low_s, longer)
            if len(self.completions) == self.k and self.completions[-1] < low:
                cost_cuts = self.choices[i] - rank
                break
            self._note((paid + self.fast_usd[i + 1], low_s, longer + self.fast_code[i + 1]))
            heappush(self.heap, (*low, i, rank))
            opened = self.number[i][rank]
            break
        self.looked += looked
        self.opened += opened >= 0
        self.time_cuts += len(cut)
        self.cost_cuts += cost_cuts
        return ExtensionRow(looked, opened, _first(cut), len(cut), cost_cuts)


def _first(numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(numbers[:SHOWN])


MOST_STEPS = 60


@dataclass(frozen=True)
class Explanation:
    """One search, explained.

    ``stages``, ``functions``: of the group from the asked stage on: numbers, and names of functions.
    ``slack_s``, ``limit_s``, ``share``: what is left of the SLO (as the search sees it); what the group gets
        of it; that share.
    ``feasible``: whether a path is in time.
    ``ranked``: configurations that the dispatcher gets, best first.
    ``trace``: the search, step by step.
    ``every``: number of all paths of the group.
    ``lines``: why this configuration, in sentences.
    """

    stages: tuple[int, ...]
    functions: tuple[str, ...]
    slack_s: float
    limit_s: float
    share: float
    feasible: bool
    ranked: tuple[int, ...]
    trace: SearchTrace
    every: int
    lines: tuple[str, ...]


def explain(planner: EsgPlanner, ask: WaitingQueue, most_steps: int = MOST_STEPS) -> Explanation:
    """Explain the answer of ``planner`` to ``ask``, with the first ``most_steps`` steps of its search.

    The steps are those of the compiled search, over the configurations that it keeps.
    """
    system, app = planner.system, planner.system.applications[ask.application]
    batch, stages = planner.batch_limit(ask.length), planner.stages(ask)
    slack_s = planner.rounded_s(ask, batch)
    limit_s = planner.limit_s(ask, slack_s)
    group, options = planner.group(ask.application, stages, batch), planner.options
    tables = group.searched(options.k)
    answer = planner.cheapest(ask.application, stages, batch, limit_s)
    steps = trace(tables, limit_s, options.k, most_steps)
    kept, all_of = (tuple(t.choices.tolist()) for t in (tables, group.tables))
    every = prod(all_of)
    return Explanation(
        stages=stages,
        functions=tuple(system.functions[app.function[s]].name for s in stages),
        slack_s=slack_s,
        limit_s=limit_s,
        share=limit_s / slack_s if slack_s > 0 else 0.0,
        feasible=bool(steps.paths),
        ranked=tuple(path[0] for path in answer.paths),
        trace=steps,
        every=every,
        lines=(
            _group_line(planner, ask, stages, slack_s, limit_s),
            *_choice_lines(planner, answer.paths[0], tables, steps, limit_s),
            *_second_line(planner, steps),
            *_thinned_line(kept, all_of),
            _work_line(steps, every),
        ),
    )


def _group_line(
    planner: EsgPlanner, ask: WaitingQueue, stages: tuple[int, ...], slack_s: float, limit_s: float
) -> str:
    names = planner.system.applications[ask.application].stage_names
    of = " → ".join(names[s] for s in stages)
    what = f"{of} are searched together" if len(stages) > 1 else f"{of} is searched alone"
    gets = "they get" if len(stages) > 1 else "it gets"
    return f"{what}; of {_left(planner, ask, slack_s)} {gets} {_ms(limit_s)}."


def _left(planner: EsgPlanner, ask: WaitingQueue, slack_s: float) -> str:
    """State the rest of the SLO, and, where it differs, the value that the search takes."""
    asked, counted = _ms(ask.slack_s), _ms(slack_s)
    if asked == counted:
        return f"{asked} that are left"
    rounded = ask.slack_s - slack_s <= planner.options.slack_resolution
    why = f"rounded down to {counted}" if rounded else f"beyond {counted} nothing changes"
    return f"{asked} that are left ({why})"


def _choice_lines(
    planner: EsgPlanner, path: tuple[int, ...], tables: GroupTables, steps: SearchTrace, limit_s: float
) -> tuple[str, ...]:
    space = planner.system.space
    first = space[path[0]].text
    if not steps.paths:
        fastest_s, late = float(tables.least_s[0]), LATE.find(planner.system.dispatch.late)
        return (
            f"No path is in time: the fastest one takes {_ms(fastest_s)}.",
            f"So ESG uses the {'fastest' if late.fastest else 'cheapest'} path, which begins with {first}.",
        )
    spent, paid = steps.time_s[0], steps.cost_usd[0]
    free = trace(tables, inf, 1, 0)
    lines = [
        f"{first}: the cheapest path in time begins with it, costs {_usd(paid)} and takes "
        f"{_ms(spent)}, {_ms(max(0.0, limit_s - spent))} less than allowed."
    ]
    if free.paths[0] == path:
        lines.append("It is the cheapest of all paths; the limit does not bind.")
    else:
        lines.append(
            f"The cheapest of all paths, {_usd(free.cost_usd[0])}, takes {_ms(free.time_s[0])}: "
            f"{_ms(free.time_s[0] - limit_s)} too long."
        )
    return tuple(lines)


def _second_line(planner: EsgPlanner, steps: SearchTrace) -> tuple[str, ...]:
    """Return the second best first configuration, if there is one in time."""
    if len(steps.paths) < 2:
        return ()
    (best_usd, cost), first = steps.cost_usd[:2], steps.paths[1][0]
    more = cost / best_usd - 1 if best_usd > 0 else 0.0
    dearer = f"{format_number(100 * more, 2)} % more expensive" if more > 1e-9 else "at no higher cost"
    return (f"Where no node has room for it, {planner.system.space[first].text} is next, {dearer}.",)


def _thinned_line(kept: tuple[int, ...], all_of: tuple[int, ...]) -> tuple[str, ...]:
    """Count the configurations that are left out before the search; empty without any."""
    if kept == all_of:
        return ()
    of = ", ".join(f"{k} of {n}" for k, n in zip(kept, all_of, strict=True))
    return (f"Searched are {of} configurations; the others cost no less and take no less time.",)


def _work_line(steps: SearchTrace, every: int) -> str:
    return (
        f"{steps.looked:,d} paths were examined and {steps.opened:,d} expanded; {every:,d} complete paths "
        f"exist. The time blade cut {steps.time_cuts:,d} extensions, the cost blade {steps.cost_cuts:,d}."
    )


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def _usd(dollars: float) -> str:
    return f"${1e6 * dollars:.2f} a million calls"
