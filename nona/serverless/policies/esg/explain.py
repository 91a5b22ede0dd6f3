"""Why ESG answers as it does: the group, its share of the SLO, the search step by step, and words for it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod

from nona.scenario.late import LATE
from nona.serverless.policies.base import Ask
from nona.serverless.policies.esg.policy import EsgPlanner
from nona.serverless.policies.esg.tables import Tables
from nona.serverless.policies.esg.trace import Trace, trace

MOST_STEPS = 60


@dataclass(frozen=True)
class Explanation:
    """One search, explained.

    Attributes
    ----------
    stages, functions
        Of the group from the asked stage on: numbers, and names of functions.
    slack_s, limit_s, share
        What is left of the SLO (as the search sees it); what the group gets of it; that share.
    feasible
        Whether a path is in time.
    ranked
        Configurations that the dispatcher gets, best first.
    trace
        The search, see :mod:`.trace`.
    kept, configurations
        Configurations of each function that the search keeps, and how many there are.
    every
        Number of all paths of the group.
    lines
        Why this configuration, in sentences.
    """

    stages: tuple[int, ...]
    functions: tuple[str, ...]
    slack_s: float
    limit_s: float
    share: float
    feasible: bool
    ranked: tuple[int, ...]
    trace: Trace
    kept: tuple[int, ...]
    configurations: tuple[int, ...]
    every: int
    lines: tuple[str, ...]


def explain(planner: EsgPlanner, ask: Ask, most_steps: int = MOST_STEPS) -> Explanation:
    """What ``planner`` does with ``ask``, with the first ``most_steps`` steps of its search.

    The steps are those of the best-first search with both blades, over the configurations that the
    policy's form of it keeps (all forms find the same paths).
    """
    system, app = planner.system, planner.system.applications[ask.application]
    batch, stages = planner.batch_limit(ask.length), planner.stages(ask)
    slack_s = planner.rounded_s(ask, batch)
    limit_s = planner.limit_s(ask, slack_s)
    group, options = planner.group(ask.application, stages, batch), planner.options
    tables = group.searched(options.search, options.k)
    found = planner.found(ask.application, stages, batch, limit_s)
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
        ranked=tuple(path[0] for path in found.paths),
        trace=steps,
        kept=kept,
        configurations=all_of,
        every=every,
        lines=(
            _group_line(planner, ask, stages, slack_s, limit_s),
            *_choice_lines(planner, found.paths[0], tables, steps, limit_s),
            *_second_line(planner, steps),
            *_thinned_line(kept, all_of),
            _work_line(steps, every),
        ),
    )


def _group_line(
    planner: EsgPlanner, ask: Ask, stages: tuple[int, ...], slack_s: float, limit_s: float
) -> str:
    names = planner.system.applications[ask.application].stage_names
    of = " → ".join(names[s] for s in stages)
    what = f"{of} are searched together" if len(stages) > 1 else f"{of} is searched alone"
    gets = "they get" if len(stages) > 1 else "it gets"
    return f"{what}; of {_left(planner, ask, slack_s)} {gets} {_ms(limit_s)}."


def _left(planner: EsgPlanner, ask: Ask, slack_s: float) -> str:
    """What is left of the SLO, and, where it differs, what the search takes it for."""
    asked, counted = _ms(ask.slack_s), _ms(slack_s)
    if asked == counted:
        return f"{asked} that are left"
    rounded = ask.slack_s - slack_s <= planner.options.slack_resolution
    why = f"rounded down to {counted}" if rounded else f"beyond {counted} nothing changes"
    return f"{asked} that are left ({why})"


def _choice_lines(
    planner: EsgPlanner, path: tuple[int, ...], tables: Tables, steps: Trace, limit_s: float
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


def _second_line(planner: EsgPlanner, steps: Trace) -> tuple[str, ...]:
    """The second best first configuration, if there is one in time."""
    if len(steps.paths) < 2:
        return ()
    (best_usd, cost), first = steps.cost_usd[:2], steps.paths[1][0]
    more = cost / best_usd - 1 if best_usd > 0 else 0.0
    dearer = f"{100 * more:.2g} % more expensive" if more > 1e-9 else "at no higher cost"
    return (f"Where no invoker has room for it, {planner.system.space[first].text} is next, {dearer}.",)


def _thinned_line(kept: tuple[int, ...], all_of: tuple[int, ...]) -> tuple[str, ...]:
    """How many configurations are left out before the search."""
    if kept == all_of:
        return ()
    of = ", ".join(f"{k} of {n}" for k, n in zip(kept, all_of, strict=True))
    return (f"Searched are {of} configurations; the others cost no less and take no less time.",)


def _work_line(steps: Trace, every: int) -> str:
    return (
        f"{steps.looked:,d} paths were examined and {steps.opened:,d} expanded; {every:,d} complete ones "
        f"exist. The time blade cut {steps.time_cuts:,d} extensions, the cost blade {steps.cost_cuts:,d}."
    )


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def _usd(dollars: float) -> str:
    return f"${1e6 * dollars:.2f} a million calls"
