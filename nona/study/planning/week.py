"""Servers by hour: the answer sized for the peak, beside a schedule that follows the traffic."""

from __future__ import annotations

import math

from nona.planning.least import least
from nona.planning.offers import Option
from nona.planning.profile import Profile, schedule_hours
from nona.results.plan import PlanWeek
from nona.study.planning.headroom import judged
from nona.study.planning.planner import Planner
from nona.study.planning.prediction import with_count
from nona.study.planning.question import MILLE
from nona.study.planning.runs import Trial

LEVELS = 8  # steps of traffic between none and the peak: each hour is served as its step's upper end


def week_of(planner: Planner, option: Option, profile: Profile) -> PlanWeek:
    """Cost of a week with the answer all the time, and with as many servers as each hour needs.

    The count of the offer that costs most in the answer varies, the others stay. Hours are served in eight
    steps of traffic; a step needs the least count that was seen to keep all targets at its upper end.
    """
    question = planner.question
    varied = max(option.used, key=lambda k: (option.counts[k] * question.offers[k].price, k))
    steps = [max(1, math.ceil(LEVELS * f / profile.peak - 1e-9)) for f in profile.factors]
    needed = _counts(planner, option, varied, sorted(set(steps), reverse=True))
    counts = [needed[step] for step in steps]
    startup_h = question.spec.startup / 3600
    price = question.offers[varied].price
    rest = question.cost(with_count(option, varied, 0))
    whole = question.cost(option)
    return PlanWeek(
        factors=profile.factors,
        peak=profile.peak,
        gpu=question.offers[varied].gpu,
        mig=question.offers[varied].mig,
        servers=tuple(counts),
        startup_s=question.spec.startup,
        constant_cost=len(counts) * whole,
        schedule_cost=len(counts) * rest + price * schedule_hours(counts, startup_h),
    )


def _counts(planner: Planner, option: Option, varied: int, steps: list[int]) -> dict[int, int]:
    """The least count for each step of the traffic, from the peak downwards."""
    found: dict[int, int] = {}
    most = option.counts[varied]
    for step in steps:
        load = math.ceil(MILLE * step / LEVELS)
        if step < LEVELS:
            most = _least(planner, option, varied, most, load)
        found[step] = most
    return found


def _least(planner: Planner, option: Option, varied: int, most: int, load: int) -> int:
    """The least count that keeps at a load; ``most`` is enough for a higher one."""
    floor = 1 if len(option.used) == 1 else 0  # the others alone may do
    search = least(most - floor, max(1, math.ceil(most * load / MILLE) - floor + 1))
    try:
        wanted = next(search)
        while True:
            rest = with_count(option, varied, wanted + floor - 1)
            (known,) = judged(planner, [Trial(rest, load)])
            wanted = search.send(known.verdict == "keeps")
    except StopIteration as end:
        return most if end.value is None else int(end.value) + floor - 1
