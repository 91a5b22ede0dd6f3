"""How much more traffic an option bears, and what is left of it when servers fail."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nona.planning.offers import Option
from nona.results.plan import PlanFailure, PlanLoad
from nona.study.planning.planner import Planner
from nona.study.planning.prediction import with_count
from nona.study.planning.question import MILLE
from nona.study.planning.runs import Trial
from nona.study.planning.trials import Known, models_of, ruled_out, shares_of
from nona.study.planning.written import cost_per_million, queries_per_s, servers_of

CLOSE = 1.02  # the headroom is known to 2 %
MOST_LOAD = 64  # times the traffic
AROUND = 1.1  # the first two factors lie so far around the predicted edge
MOST_RUNS = 16  # replications of a factor, or twice as many as the answer's own verdict took,
LIMIT = 128  # but no more than these

__all__ = ["failures", "headroom", "judged", "loads_of"]


def headroom(planner: Planner, option: Option) -> float:
    """The largest factor on the traffic, to 2 %, at which the option was seen to keep all targets.

    Two factors at a time are simulated, so that the interval shrinks to a third. From 1 downwards where the
    option does not keep as it is. 0 where no factor down to a thousandth keeps.
    """
    edge = _predicted_edge(planner, option)
    now = planner.of(option).verdict == "keeps"
    low, high = (MILLE, _ruled_out(planner, option)) if now else (0, MILLE)
    pair = _between(low, high, (edge / AROUND, edge * AROUND))
    while pair:
        kept = [k.verdict == "keeps" for k in judged(planner, [Trial(option, load) for load in pair])]
        for load, keeps in zip(pair, kept, strict=True):
            if keeps:
                low = load
            else:
                high = load
                break
        ratio = high / max(low, 1)
        pair = () if ratio <= CLOSE or high <= 2 else _between(low, high, _thirds(low, high))
    return low / MILLE


def _thirds(low: int, high: int) -> tuple[float, float]:
    begin = max(low, high / 8)  # below, the scale of factors has no end
    return begin * (high / begin) ** (1 / 3), begin * (high / begin) ** (2 / 3)


def _between(low: int, high: int, wanted: Sequence[float]) -> tuple[int, ...]:
    """Whole thousandths strictly between two others, ascending; the middle where none of them is."""
    inside = sorted({round(w) for w in wanted if low < round(w) < high})
    if not inside and high - low > 1:
        inside = [(low + high) // 2]
    return tuple(inside)


def _ruled_out(planner: Planner, option: Option) -> int:
    """The least factor that loads the executors to their capacity, in thousandths."""
    bounds = planner.bounds
    busy = bounds.load(option) - bounds.background
    if busy <= 0:
        return MOST_LOAD * MILLE
    return min(MOST_LOAD * MILLE, max(MILLE + 1, math.ceil(MILLE * (1 - bounds.background) / busy)))


def _predicted_edge(planner: Planner, option: Option) -> float:
    low, high = 1, MOST_LOAD * MILLE
    while high - low > 1:
        middle = (low + high) // 2
        if planner.prediction.margin(option, middle) >= 1:
            low = middle
        else:
            high = middle
    return float(low)


def judged(planner: Planner, trials: Sequence[Trial]) -> list[Known]:
    """What is known of these trials once their verdicts stand, or enough looks were taken."""
    for trial in trials:
        found = planner.bounds.excluded(trial.option, trial.load)
        if trial not in planner.known and found is not None:
            planner.known[trial] = ruled_out(found)
    most = _most_runs(planner)
    while True:
        left = [t for t in trials if not planner.decided(planner.known.get(t, Known()), most)]
        if not left:
            return [planner.known[t] for t in trials]
        planner.look(left)


def _most_runs(planner: Planner) -> int:
    """Replications of a trial: one nearer to its targets than the answer is not decided by fewer than it."""
    own = 0 if planner.best is None else len(planner.of(planner.best).seen)
    return min(max(MOST_RUNS, min(2 * own, LIMIT)), planner.question.spec.replications)


def loads_of(planner: Planner, option: Option) -> tuple[PlanLoad, ...]:
    """The factors that were looked at, ascending."""
    rate = queries_per_s(planner.bounds)
    found = sorted(
        ((t.load, k) for t, k in planner.known.items() if t.option == option and k.seen),
        key=lambda pair: pair[0],
    )
    return tuple(
        PlanLoad(
            factor=load / MILLE,
            verdict=known.verdict,
            models=models_of(planner.question, known),
            cost_per_million=cost_per_million(planner.question, option, known.moved, rate * load / MILLE),
            shares=shares_of(planner.question, known),
        )
        for load, known in found
    )


def failures(planner: Planner, option: Option) -> tuple[PlanFailure, ...]:
    """The option with one server fewer of each offer, and with one rack fewer where there are racks."""
    question = planner.question
    racks = question.scenario.cluster.network.racks
    found = []
    for k in option.used:
        for lost, what in ((1, "one server"), (racks.size if racks else 0, "one rack")):
            count = option.counts[k] - lost
            if lost == 0 or count < 0:
                continue
            rest = with_count(option, k, count)
            text = f"{what} of {question.offers[k].text}"
            if not rest.used:
                found.append(PlanFailure(lost=text, servers=(), verdict="misses"))
                continue
            (known,) = judged(planner, [Trial(rest, MILLE)])
            found.append(
                PlanFailure(
                    lost=text,
                    servers=servers_of(question, rest),
                    verdict=known.verdict,
                    shares=shares_of(question, known),
                )
            )
    return tuple(found)
