"""The fewest servers that keep the SLOs: report, rows and text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nona.report.text import MARKS, listed
from nona.report.times import USUAL
from nona.results.document import Estimate
from nona.results.planning import CapacityReport, CountRange, DeviceCapacity, ServerCount
from nona.scenario.schema import ServerGroupSpec
from nona.tables import COUNT, Column, Filled, Kind, Table, mean_text
from nona.units import format_number

MISSED = Kind(lambda share: f"{format_number(100 * share)} %")
KEPT = Kind(lambda share: f"{format_number(100 * share, 4)} %")


def capacity_report(
    devices: Sequence[DeviceCapacity], best: DeviceCapacity | None, hit: float, group: int, most: int
) -> CapacityReport:
    """Build the report of ``nona capacity --json``; ``best``: the cheapest, or with the fewest servers."""
    return CapacityReport(
        target_hit_rate=hit,
        group=group,
        most=most,
        best=None if best is None else best.gpu,
        best_scheduler=None if best is None else best.scheduler,
        devices=tuple(devices),
    )


def capacity_finding(report: CapacityReport) -> str:
    """The answer in a sentence or two, which name the scheduler."""
    hit, best = KEPT.show(report.target_hit_rate), report.found
    if best is None or best.predicted is None:
        return " ".join(_none(d, report) for d in report.devices)
    enough, fewer = best.predicted, best.one_fewer
    keep = _verb(enough.servers, "keeps", "keep")
    each = " of every model" if enough.worst else ""
    text = (
        f"Under {best.scheduler}, {_servers(enough.servers)} with {best.gpu} {keep} {hit} of the SLOs{each} "
        f"({MARKS[best.method]}{_range(best.if_times_off)}): {_miss(enough)}"
    )
    if fewer is not None:
        text += f"; with {_servers(fewer.servers)}: {_known(fewer)}"
    cost = "" if best.cost is None else f" At the given prices the cluster costs {format_number(best.cost)}."
    return f"{text}.{cost}"


def others_stay(servers: Sequence[ServerGroupSpec], group: int) -> str:
    """Name the servers beside the group, which stay as they are, in a sentence; empty if there are none.

    >>> others_stay([ServerGroupSpec(count=8, gpu="l4"), ServerGroupSpec(count=2, gpu="t4")], 0)
    'The other servers stay as they are: 2 × t4.'
    """
    others = [f"{other.count} × {other.gpu}" for place, other in enumerate(servers) if place != group]
    return f"The other servers stay as they are: {listed(others)}." if others else ""


def others_finding(report: CapacityReport) -> str:
    """State the needs of the other schedulers and devices in a sentence; empty if only one was asked for.

    Where some are predicted and some simulated, the sentence says which.
    """
    best = report.found
    if best is None or len(report.devices) == 1:
        return ""
    several = len({d.gpu for d in report.devices}) > 1
    mixed = len({d.method for d in report.devices}) > 1
    clauses = []
    for d in report.devices:
        if d is not best:
            name = f"{d.scheduler} with {d.gpu}" if several else d.scheduler
            if not d.finished:
                clauses.append(f"{name}: the search {_so_far(d, report.target_hit_rate)}")
                continue
            need = "cannot keep them" if d.servers is None else f"needs {d.servers:,}"
            clauses.append(f"{name} {need} ({MARKS[d.method]})" if mixed else f"{name} {need}")
    return f"{'; '.join(clauses)}."


def alone_note(report: CapacityReport, schedulers: Sequence[str]) -> str:
    """A reminder that the answer is one scheduler's; empty if several were asked for.

    ``schedulers`` are all schedulers that could be asked for.
    """
    asked = {d.scheduler for d in report.devices}
    others = [n for n in schedulers if n not in asked]
    if len(asked) > 1 or not others:
        return ""
    (only,) = asked
    return f"This is the answer for {only} alone: another scheduler may need more servers, or fewer."


def _none(d: DeviceCapacity, report: CapacityReport) -> str:
    who, hit = f"with {d.scheduler} and {d.gpu}", KEPT.show(report.target_hit_rate)
    if not d.finished:
        return f"{d.scheduler} with {d.gpu}: the search {_so_far(d, report.target_hit_rate)}."
    if d.no_room:
        return f"No number of servers keeps {hit} of the SLOs {who}: {d.no_room}"
    if d.least_miss > 1 - report.target_hit_rate:
        never = KEPT.show(d.least_miss)
        return (
            f"No number of servers keeps {hit} of the SLOs of every model {who}: for {never} of one "
            "model's jobs the longest chain of tasks alone takes longer than the SLO."
        )
    last = d.tried[-1]
    less = "" if last.servers >= report.most else ", and more would not help"
    verb = _verb(last.servers, "does", "do")
    return (
        f"{_servers(last.servers)} {verb} not suffice to keep {hit} of the SLOs {who}{less}: {_miss(last)}."
    )


def _so_far(d: DeviceCapacity, hit: float) -> str:
    """State the bracket of an unfinished search: the fewest that keep, and the most below that do not."""
    if not d.tried:
        return "has not begun"
    kept = [t.servers for t in d.tried if t.miss is not None and t.miss <= 1 - hit]
    least = min(kept, default=None)
    less = [t.servers for t in d.tried if least is None or t.servers < least]
    clauses = [] if least is None else [f"{_servers(least)} {_verb(least, 'keeps', 'keep')}"]
    clauses += [f"{max(less):,} {_verb(max(less), 'does', 'do')} not"] if less else []
    return f"has not finished: {', '.join(clauses)}"


def _verb(count: int, one: str, several: str) -> str:
    return one if count == 1 else several


def _servers(count: int) -> str:
    return f"{count:,} server{'' if count == 1 else 's'}"


def _miss(count: ServerCount) -> str:
    if count.miss is None:
        return "there is no steady state"
    missed = _known(count)
    return f"{count.worst}, the worst model, misses {missed}" if count.worst else f"{missed} are missed"


def _range(off: CountRange | None) -> str:
    return "" if off is None else f"; {range_text(off)} {USUAL}"


def range_text(off: CountRange) -> str:
    """The range of counts, as it stands in a sentence and in a table.

    >>> range_text(CountRange(low=10, high=27, level=0.9))
    '10 to 27'
    >>> range_text(CountRange(low=6, high=6, level=0.9))
    'also 6'
    >>> range_text(CountRange(low=10, high=None, level=0.9))
    'at least 10, or out of reach'
    """
    if off.high is None:
        return "out of reach" if off.low is None else f"at least {off.low:,}, or out of reach"
    if off.low == off.high:
        return f"also {off.high:,}"
    return f"{off.low:,} to {off.high:,}" if off.low is not None else f"up to {off.high:,}"


class _Asked(NamedTuple):
    of: DeviceCapacity
    hit: float

    @property
    def servers(self) -> int | str:
        if not self.of.finished:
            return _so_far(self.of, self.hit)
        return "out of reach" if self.of.predicted is None else self.of.predicted.servers

    @property
    def seen(self) -> tuple[Estimate | None, Estimate | None]:
        """The share kept with the servers predicted, and with one fewer, where both were simulated too."""
        counts = (self.of.predicted, self.of.one_fewer) if self.of.method == "prediction" else (None, None)
        enough, fewer = (None if c is None else c.simulated_hit_rate for c in counts)
        return enough, fewer


def _worst(enough: ServerCount | None) -> str | None:
    return enough.worst or None if enough else None


def _missed(count: ServerCount | None) -> Estimate | str | None:
    """The share missed with ± two standard errors, as far as a share goes."""
    if count is None or count.miss is None:
        return "no steady state" if count else None
    return Estimate(
        mean=count.miss, ci95=(max(count.miss - 2 * count.error, 0.0), count.miss + 2 * count.error)
    )


CAPACITY = Table[_Asked](
    "",
    (
        Column("scheduler", lambda r: r.of.scheduler),
        Column("device", lambda r: r.of.gpu),
        Column("servers", lambda r: r.servers, COUNT),
        Column(
            "if times are off",
            lambda r: range_text(r.of.if_times_off) if r.of.if_times_off else None,
            optional=True,
        ),
        Column("SLOs missed, worst model", lambda r: _missed(r.of.predicted), MISSED, optional=True),
        Column("worst model", lambda r: _worst(r.of.predicted), optional=True),
        Column(
            "of all jobs",
            lambda r: r.of.predicted.miss_of_all if r.of.predicted else None,
            MISSED,
            optional=True,
        ),
        Column("with one fewer", lambda r: _missed(r.of.one_fewer), MISSED, optional=True),
        Column("by", lambda r: MARKS[r.of.method]),
        Column("kept, simulated", lambda r: r.seen[0], KEPT, interval=True, optional=True),
        Column("kept with one fewer, simulated", lambda r: r.seen[1], KEPT, interval=True, optional=True),
        Column("cost", lambda r: r.of.cost, optional=True),
    ),
)


def capacity(report: CapacityReport) -> Filled:
    """Each device and scheduler; what holds for none of them has no column."""
    filled = CAPACITY.of(_Asked(d, report.target_hit_rate) for d in report.devices)
    return filled if len({d.gpu for d in report.devices}) > 1 else filled.without("device")


class _Tried(NamedTuple):
    of: DeviceCapacity
    tried: ServerCount


TRIED = Table[_Tried](
    "",
    (
        Column("scheduler", lambda r: r.of.scheduler),
        Column("device", lambda r: r.of.gpu),
        Column("servers", lambda r: r.tried.servers, COUNT),
        Column("SLOs missed, worst model", lambda r: _missed(r.tried), MISSED),
        Column("worst model", lambda r: r.tried.worst or None),
        Column("by", lambda r: MARKS[r.of.method]),
    ),
)


def tried(report: CapacityReport) -> Filled:
    """Every number of servers that was looked at, as the figure draws it."""
    return TRIED.of(_Tried(d, t) for d in report.devices for t in d.tried)


def _known(count: ServerCount) -> str:
    missed = _missed(count)
    return mean_text(missed, MISSED.show) if isinstance(missed, Estimate) else missed or ""


def capacity_text(report: CapacityReport) -> str:
    """Format the output of ``nona capacity``."""
    findings = filter(None, (capacity_finding(report), others_finding(report)))
    return "\n".join([*findings, "", capacity(report).text()])
