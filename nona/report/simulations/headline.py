"""The finding of a simulation in one sentence with its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.means import mean_text
from nona.report.simulations.findings import level_with, shortest
from nona.report.text import share_text
from nona.results.estimate import Estimate
from nona.results.simulation.differences import Differences
from nona.results.simulation.live import LiveRun
from nona.results.simulation.report import Schedulers
from nona.units import format_time

REFERENCE = "local"  # what a scheduler is measured by, where it is there: everything on one server


def reference_for(schedulers: Schedulers, best: str) -> str | None:
    """The scheduler that the best is compared with: ``local``, or else the next best; ``None`` if alone."""
    means = {n: s.jct_s.mean for n, s in schedulers.items() if s.jct_s.mean is not None}
    others = [n for n in means if n != best]
    if not others:
        return None
    return REFERENCE if REFERENCE in others else min(others, key=lambda n: means[n])


def headline(schedulers: Schedulers, differences: Differences) -> str:
    """The finding: the scheduler with the lowest mean, its advantage, overloaded schedulers.

    ``schedulers`` is that of a simulation's report, ``differences`` baseline → scheduler → paired
    difference, as of :func:`~nona.report.simulations.differences.all_differences`.
    """
    best = shortest(schedulers)
    over = [n for n, s in schedulers.items() if s.overloaded]
    if best is None:
        return (
            f"{_list(over)} {_are(over)} overloaded: no mean completion time exists."
            if over
            else ("No job was completed: there is no mean completion time.")
        )
    mean = mean_text(schedulers[best].jct_s, format_time)
    level = level_with(best, differences)
    if level:
        found = f"{best} is lowest at {mean}, without a clear difference from {_list(level)}"
    else:
        found = f"{best} is shortest: {mean}"
    if schedulers[best].jct_s.ci95 is not None:
        found += " (95 %)"
    return found + _against(best, reference_for(schedulers, best), differences) + _trouble(schedulers, over)


def _against(best: str, other: str | None, differences: Differences) -> str:
    row = differences.get(other or "", {}).get(best)
    if other is None or row is None or row.relative is None or row.verdict == "not told apart":
        return ""
    size = mean_text(_negated(row.jct_s), format_time)
    kind = "paired difference" if row.jct_s.ci95 is not None else "difference"
    return f", {share_text(abs(row.relative))} below {other} ({kind} {size})"


def _negated(value: Estimate) -> Estimate:
    mean, span = value.mean, value.ci95
    return Estimate(mean=None if mean is None else -mean, ci95=None if span is None else (-span[1], -span[0]))


def _trouble(schedulers: Schedulers, over: Sequence[str]) -> str:
    late = [n for n, s in schedulers.items() if s.state == "backlogged"]
    told = f"; {_list(over)} {_are(over)} overloaded" if over else ""
    return told + (f"; {_list(late)} ended with a backlog" if late else "") + "."


def live_headline(live: LiveRun) -> str:
    """The same while the simulation is running: the lowest mean so far.

    >>> live_headline(LiveRun())
    'No job is complete yet.'
    """
    means = {n: s.mean_s for n, s in live.series.items()}
    if not means:
        return "No job is complete yet."
    order = sorted(means, key=lambda n: means[n])
    rest = ", ".join(f"{n} is at {format_time(means[n])}" for n in order[1:3])
    return f"So far {order[0]} is shortest: {format_time(means[order[0]])}{'; ' + rest if rest else ''}."


def _list(names: Sequence[str]) -> str:
    """
    >>> _list(["a"]), _list(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
