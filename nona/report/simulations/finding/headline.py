"""The finding of a simulation: one number, how sure it is, and one sentence around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from nona.report.means import mean_text
from nona.report.simulations.finding.findings import level_with, shortest, ties_with
from nona.report.text import listed, share_text, verb
from nona.report.times_off import TIME_UNITS, off_text
from nona.results.estimate import Estimate, OffRange
from nona.results.simulation.differences import Differences
from nona.results.simulation.live import LiveRun
from nona.results.simulation.report import Schedulers
from nona.units import format_time

REFERENCE = "local"  # what a scheduler is measured by, where it is there: everything on one server

NO_RANGES: Mapping[str, OffRange] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Headline:
    """A finding around one number.

    Attributes
    ----------
    best
        The scheduler whose mean it is; empty where no scheduler has one.
    value
        That mean, the page's largest number; empty without one.
    lead
        What the number says of that scheduler, or why there is none.
    sure
        The interval of the simulation, and the range if task times are off.
    rest
        The advantage over another, and who is overloaded or ended with a backlog.
    """

    best: str
    value: str
    lead: str
    sure: str
    rest: str

    @property
    def beside(self) -> str:
        """What stands beside the number."""
        return "; ".join(t for t in (self.sure, self.rest.removeprefix("; ")) if t)

    @property
    def text(self) -> str:
        """All in one sentence."""
        if not self.value:
            return self.lead
        more = f" {self.sure}" if self.sure.startswith("±") else f", {self.sure}" if self.sure else ""
        rest = self.rest.removeprefix("; ")
        return f"{self.lead}: {self.value}{more}{f'; {rest}' if rest else ''}."


def reference_for(schedulers: Schedulers, best: str) -> str | None:
    """The scheduler that the best is compared with: ``local``, or else the next best; ``None`` if alone."""
    means = {n: s.jct_s.mean for n, s in schedulers.items() if s.jct_s.mean is not None}
    others = [n for n in means if n != best]
    if not others:
        return None
    return REFERENCE if REFERENCE in others else min(others, key=lambda n: means[n])


def headline(
    schedulers: Schedulers, differences: Differences, off: Mapping[str, OffRange] = NO_RANGES
) -> Headline:
    """The finding: the scheduler with the lowest mean, how sure that is, its advantage, who is overloaded.

    ``schedulers`` is that of a simulation's report, ``differences`` baseline → scheduler → paired
    difference, as of :func:`~nona.report.simulations.differences.all_differences`; ``off`` scheduler → the
    range of its mean if task times are off.
    """
    best = shortest(schedulers)
    over = [n for n, s in schedulers.items() if s.overloaded]
    if best is None:
        told = (
            f"{listed(over)} {verb(over)} overloaded: no mean completion time exists."
            if over
            else "No job was completed: there is no mean completion time."
        )
        return Headline("", "", told, "", "")
    level = level_with(best, differences)
    alone = sum(s.jct_s.mean is not None for s in schedulers.values()) < 2
    if ties := ties_with(best, differences):
        lead = f"{listed([best, *ties])} take equally long on the same jobs"
    elif level:
        lead = f"{best} is lowest, without a clear difference from {listed(level)}"
    else:
        lead = f"Mean JCT of {best}" if alone and not over else f"{best} is shortest"
    return Headline(
        best,
        format_time(schedulers[best].jct_s.mean or 0.0),
        lead,
        sure_text(schedulers[best].jct_s, off.get(best)),
        _against(best, reference_for(schedulers, best), differences) + _trouble(schedulers, over),
    )


def sure_text(value: Estimate, off: OffRange | None) -> str:
    """How sure a mean is: the interval of its simulation, and the range if modelled times are off.

    >>> sure_text(Estimate(mean=0.006, ci95=(0.0058, 0.0062)), OffRange(low_s=0.0034, high_s=0.0107))
    '± 0.2 ms simulated (95 %); 3.4 to 11 ms if times are off as they usually are'
    >>> sure_text(Estimate(mean=0.006, ci95=None), None)
    'simulated, without an interval'
    """
    half, mean = value.half_width, value.mean
    if half is None or mean is None:
        told = "simulated, without an interval"
    else:
        size, unit = next((f, u) for f, u in TIME_UNITS if abs(mean) >= f or f == TIME_UNITS[-1][0])
        rounded = float(f"{half if half > 1e-9 * abs(mean) else 0.0:.2g}")
        told = f"± {rounded / size:.4g} {unit} simulated (95 %)"
    return told if off is None else f"{told}; {off_text(off)}"


def _against(best: str, other: str | None, differences: Differences) -> str:
    row = differences.get(other or "", {}).get(best)
    if other is None or row is None or row.relative is None or row.verdict == "not told apart":
        return ""
    size = mean_text(_negated(row.jct_s), format_time)
    return f"{share_text(abs(row.relative))} below {other} ({size} less on the same jobs)"


def _negated(value: Estimate) -> Estimate:
    mean, span = value.mean, value.ci95
    return Estimate(mean=None if mean is None else -mean, ci95=None if span is None else (-span[1], -span[0]))


def _trouble(schedulers: Schedulers, over: Sequence[str]) -> str:
    late = [n for n, s in schedulers.items() if s.state == "backlogged"]
    told = f"; {listed(over)} {verb(over)} overloaded" if over else ""
    return told + (f"; {listed(late)} ended with a backlog" if late else "")


def live_headline(live: LiveRun) -> Headline:
    """The same while the simulation is running: the lowest mean so far.

    >>> live_headline(LiveRun()).text
    'No job is complete yet.'
    """
    means = {n: s.mean_s for n, s in live.series.items()}
    if not means:
        return Headline("", "", "No job is complete yet.", "", "")
    order = sorted(means, key=lambda n: means[n])
    least = format_time(means[order[0]])
    first = [n for n in order if format_time(means[n]) == least]
    rest = ", ".join(f"{n} is at {format_time(means[n])}" for n in order[len(first) :][:2])
    lead = f"So far {listed(first)} {'is shortest' if len(first) == 1 else 'are level'}"
    return Headline(order[0], least, lead if len(order) > 1 else f"Mean JCT of {order[0]} so far", "", rest)
