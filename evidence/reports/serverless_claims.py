"""The claims of the slides on ESG, each judged from paired policies.

A claim has an *order* (who is better, what grows) and mostly a *size* (by how much). Each is a function of
the cells of a study, setting → policy → cell, so that it can be judged again under every alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evidence.policy_results import Cell, Cells, ServerlessStudy, SettingCells
from nona.core.arrays import Floats
from nona.core.statistics import Interval, Ratio, mean_interval, paired_ratio
from nona.core.units import format_time

Key = Literal["hits", "costs"]
KEYS: tuple[Key, ...] = ("hits", "costs")


def values(cell: Cell, key: Key) -> Floats:
    """(R,) One value per replication, ``nan`` where there is none."""
    return np.array(cell.hits if key == "hits" else cell.costs, dtype=np.float64)


def mean(cell: Cell, key: Key) -> float:
    """Over the replications."""
    return float(np.mean(values(cell, key)))


def difference(one: Cell, other: Cell, key: Key) -> Interval:
    """Return the difference of two policies, paired by replication."""
    return mean_interval(values(one, key) - values(other, key))


def cost_ratio(one: Cell, other: Cell) -> Ratio:
    """Cost of one over the other's, with Fieller's interval."""
    return paired_ratio(values(one, "costs"), values(other, "costs"))


def clear(interval: Interval) -> bool:
    """Return whether the interval excludes 0.

    >>> clear(Interval(0.1, 0.05, 3)), clear(Interval(0.1, 0.2, 3)), clear(Interval(0.0, 0.0, 3))
    (True, False, False)
    """
    return bool(interval.low > 0 or interval.high < 0)


def order(cells: Cells, key: Key) -> list[str]:
    """Policies from good to bad: most SLOs kept, or least cost."""
    sign = -1.0 if key == "hits" else 1.0
    return sorted(cells, key=lambda n: (sign * mean(cells[n], key), n))


Verdict = bool | None
#: Per cent of pre-planned configurations that could not be used, slides on ESG.
MISSES: Mapping[str, Mapping[str, float]] = {
    "orion": {"strict_light": 9.6, "moderate_normal": 27.32, "relaxed_heavy": 51.68},
    "aquatope": {"strict_light": 85.5, "moderate_normal": 59.85, "relaxed_heavy": 58.72},
}
NEAR = 10.0  # percentage points: miss rates that close agree in size
MATERIAL = 0.5  # percentage points: what differs by less is not "more"
STRICT, RELAXED = "strict_light", "relaxed_heavy"


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdicts on order and size (``None``: the cells lack what it takes, or no size is stated)."""

    order: Verdict
    finding: str = "–"
    size: Verdict = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the slides, ``stated``, and what judges it."""

    name: str
    stated: str
    judge: Callable[[SettingCells], Judged]


def _gaps(cells: SettingCells, others: Sequence[str]) -> list[tuple[float, float]]:
    """ESG's advantage in SLOs kept over each policy in each setting: in points, and in per cent of theirs.

    The slides do not say which of the two they mean.
    """
    advantages = []
    for row in cells.values():
        for other in others:
            ours, theirs = mean(row["esg"], "hits"), mean(row[other], "hits")
            advantages.append((100 * (ours - theirs), 100 * (ours / theirs - 1) if theirs else float("inf")))
    return advantages


def _more_hits(name: str, others: tuple[str, str], low: float, high: float) -> Claim:
    def judge(cells: SettingCells) -> Judged:
        gaps = _gaps(cells, others)
        points, relative = zip(*gaps, strict=True)
        finding = (
            f"{min(points):+.1f} to {max(points):+.1f} percentage points ({min(relative):+.1f} % to "
            f"{max(relative):+.1f} % of theirs), by setting and policy"
        )
        size = any(low <= gap <= high for both in gaps for gap in both)
        return Judged(min(points) > MATERIAL, finding, size)

    return Claim(
        name, f"ESG keeps {low:.0f} % to {high:.0f} % more SLOs than {others[0]} and {others[1]}", judge
    )


def missed(cells: SettingCells, policy: str) -> dict[str, float]:
    """Return setting → configuration misses of the policy, per cent.

    Settings without any planned are left out.
    """
    shares = {name: row[policy].miss for name, row in cells.items()}
    return {name: 100 * share for name, share in shares.items() if share is not None}


def _misses(policy: str, grows: bool) -> Claim:
    stated = MISSES[policy]

    def judge(cells: SettingCells) -> Judged:
        misses = missed(cells, policy)
        if not misses:
            return Judged(None)
        order = None
        if {STRICT, RELAXED} <= set(misses):
            change = misses[RELAXED] - misses[STRICT]
            order = change > MATERIAL if grows else change < -MATERIAL
        finding = ", ".join(f"{share:.1f} % ({name})" for name, share in misses.items())
        return Judged(order, finding, all(abs(misses[n] - stated[n]) <= NEAR for n in misses if n in stated))

    numbers = ", ".join(f"{share:g} %" for share in stated.values())
    change = "grow" if grows else "fall"
    text = f"{policy}'s configuration misses {change} from strict-light to relaxed-heavy: {numbers}"
    return Claim(f"misses of {policy}", text, judge)


SEARCH_S = 0.010
SLOWER = 0.02  # relative: latencies and searches closer than that are not "longer"
SIMILAR = 0.05  # relative: costs that close are "similar"
JUST_BELOW = (0.8, 1.0)  # median latency / SLO that is "just below but close"


def _costs(cells: SettingCells) -> Judged:
    ratios = [
        (mean(row[other], "costs") / mean(row["esg"], "costs"), other, name)
        for name, row in cells.items()
        for other in row
        if other != "esg"
    ]
    (low, *cheapest), (high, *dearest) = min(ratios), max(ratios)
    finding = (
        f"others cost {low:.2f} ({', '.join(cheapest)}) to {high:.2f} times as much ({', '.join(dearest)})"
    )
    return Judged(low >= 1 - SIMILAR, finding)


def _dearest(cells: SettingCells) -> Judged:
    most = {name: max(row, key=lambda p: mean(row[p], "costs")) for name, row in cells.items()}
    shown = ", ".join(f"{p} ({name})" for name, p in most.items())
    return Judged(set(most.values()) == {"infless"}, f"the most expensive: {shown}")


def _just_below(cells: SettingCells) -> Judged:
    fills = [f for f in cells[RELAXED]["esg"].fill if f is not None] if RELAXED in cells else []
    if not fills:
        return Judged(None)
    finding = f"median latencies are {min(fills):.2f} to {max(fills):.2f} of the SLO"
    return Judged(all(JUST_BELOW[0] <= f <= JUST_BELOW[1] for f in fills), finding)


def _slower(cells: SettingCells) -> Judged:
    theirs, ours = (
        cells[RELAXED][policy].mean_fill if RELAXED in cells else None for policy in ("fast-gshare", "esg")
    )
    if theirs is None or ours is None:
        return Judged(None)
    finding = f"mean latency / SLO {theirs:.2f} under fast-gshare, {ours:.2f} under esg"
    return Judged(theirs > (1 + SLOWER) * ours, finding)


def _searches(cells: SettingCells) -> Judged:
    times_s = {n: s for n, row in cells.items() if (s := row["esg"].search_s) is not None}
    finding = ", ".join(f"{format_time(s)} ({n})" for n, s in times_s.items()) or "–"
    return Judged(all(s < SEARCH_S for s in times_s.values()), finding)


def _search_grows(cells: SettingCells) -> Judged:
    finding = _searches(cells).finding
    strict, relaxed = (cells[n]["esg"].search_s if n in cells else None for n in (STRICT, RELAXED))
    if strict is None or relaxed is None:
        return Judged(None, finding)
    return Judged(bool((1 + SLOWER) * strict < relaxed), finding)


def _more_misses(cells: SettingCells) -> Judged:
    aquatope = missed(cells, "aquatope")
    more = {n: aquatope.get(n, 0.0) - share for n, share in missed(cells, "orion").items()}
    finding = ", ".join(f"{points:+.1f} points ({n})" for n, points in more.items())
    return Judged(all(points > MATERIAL for points in more.values()), finding)


CLAIMS: tuple[Claim, ...] = (
    _more_hits("more SLOs kept than by the searches", ("orion", "aquatope"), 46.0, 80.0),
    _more_hits("more SLOs kept than with static shares", ("infless", "fast-gshare"), 36.0, 61.0),
    Claim("costs similar or lower", "ESG costs as much as the others or less", _costs),
    Claim("INFless uses most", "INFless uses the most resources", _dearest),
    Claim("ESG just below the SLO", "in relaxed-heavy ESG's latencies are just below the SLO", _just_below),
    Claim("FaST-GShare slower", "in relaxed-heavy FaST-GShare leads to slower jobs than ESG", _slower),
    Claim("search below 10 ms", "ESG searches for less than 10 ms on average", _searches),
    Claim(
        "search longer when relaxed",
        "ESG searches longer with a relaxed SLO than with a strict one",
        _search_grows,
    ),
    _misses("orion", grows=True),
    _misses("aquatope", grows=False),
    Claim(
        "Aquatope misses more than Orion",
        "Aquatope misses more often than Orion in every setting",
        _more_misses,
    ),
)
SLIDES = ("esg", "infless", "fast-gshare", "orion", "aquatope")  # the policies that the slides compare


def published(cells: Cells) -> Cells:
    """Return the cells of the policies that the slides compare: of others they claim nothing."""
    return {name: cell for name, cell in cells.items() if name in SLIDES}


def main_cells(data: ServerlessStudy) -> SettingCells:
    """Return the cells of a study's three settings."""
    return {name: published(row.cells) for name, row in data.settings.items()}
