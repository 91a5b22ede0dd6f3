"""The fewest servers that keep the SLOs: report, rows and text."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.text import MARKS, listed
from nona.report.times import USUAL
from nona.results.planning import CapacityReport, CountRange, DeviceCapacity, ServerCount
from nona.scenario.schema import ServerGroupSpec
from nona.tables.formats import mean_text, or_dash
from nona.tables.table import text_table
from nona.units import format_number


def capacity_report(
    found: Sequence[DeviceCapacity], best: DeviceCapacity | None, hit: float, group: int, most: int
) -> CapacityReport:
    """Build the report of ``nona capacity --json``; ``best``: the cheapest, or with the fewest servers."""
    return CapacityReport(
        target_hit_rate=hit,
        group=group,
        most=most,
        best=None if best is None else best.gpu,
        best_scheduler=None if best is None else best.scheduler,
        devices=tuple(found),
    )


def capacity_finding(report: CapacityReport) -> str:
    """The answer in a sentence or two, which name the scheduler."""
    hit, best = _share(report.target_hit_rate), report.found
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


def alone_note(report: CapacityReport, known: Sequence[str]) -> str:
    """A reminder that the answer is one scheduler's; empty if several were asked for.

    ``known`` are all schedulers that could be asked for.
    """
    asked = {d.scheduler for d in report.devices}
    others = [n for n in known if n not in asked]
    if len(asked) > 1 or not others:
        return ""
    (only,) = asked
    return f"This is the answer for {only} alone: another scheduler may need more servers, or fewer."


def _none(d: DeviceCapacity, report: CapacityReport) -> str:
    who, hit = f"with {d.scheduler} and {d.gpu}", _share(report.target_hit_rate)
    if not d.finished:
        return f"{d.scheduler} with {d.gpu}: the search {_so_far(d, report.target_hit_rate)}."
    if d.no_room:
        return f"No number of servers keeps {hit} of the SLOs {who}: {d.no_room}"
    if d.least_miss > 1 - report.target_hit_rate:
        return (
            f"No number of servers keeps {hit} of the SLOs of every model {who}: for {_share(d.least_miss)} "
            "of one model's jobs the longest chain of tasks alone takes longer than the SLO."
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


def _share(share: float) -> str:
    return f"{format_number(100 * share, 4)} %"


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


def capacity_rows(report: CapacityReport) -> list[dict[str, str]]:
    """A row for each device and scheduler; what holds for none of them has no column."""
    rows = [_row(d, report.target_hit_rate) for d in report.devices]
    empty = {key for key in rows[0] if all(r[key] == "–" for r in rows)}
    if len({d.gpu for d in report.devices}) == 1:
        empty.add("device")
    return [{k: v for k, v in row.items() if k not in empty} for row in rows]


def _row(d: DeviceCapacity, hit: float) -> dict[str, str]:
    enough, fewer = d.predicted, d.one_fewer
    predicted = d.method == "prediction"
    need = "out of reach" if enough is None else f"{enough.servers:,}"
    return {
        "scheduler": d.scheduler,
        "device": d.gpu,
        "servers": need if d.finished else _so_far(d, hit),
        "if times are off": "–" if d.if_times_off is None else range_text(d.if_times_off),
        "SLOs missed, worst model": "–" if enough is None else _known(enough),
        "worst model": "–" if enough is None else enough.worst or "–",
        "of all jobs": "–"
        if enough is None
        else or_dash(enough.miss_of_all, lambda v: f"{format_number(100 * v)} %"),
        "with one fewer": "–" if fewer is None else _known(fewer),
        "by": MARKS[d.method],
        "kept, simulated": _seen(enough) if predicted else "–",
        "kept with one fewer, simulated": _seen(fewer) if predicted else "–",
        "cost": or_dash(d.cost, format_number),
    }


def tried_rows(report: CapacityReport) -> list[dict[str, str | int]]:
    """Tabulate every number of servers that was looked at, as the figure draws it."""
    return [
        {
            "scheduler": d.scheduler,
            "device": d.gpu,
            "servers": t.servers,
            "SLOs missed, worst model": _known(t),
            "worst model": t.worst or "–",
            "by": MARKS[d.method],
        }
        for d in report.devices
        for t in d.tried
    ]


def _known(count: ServerCount) -> str:
    if count.miss is None:
        return "no steady state"
    miss, half = format_number(100 * count.miss), format_number(200 * count.error, 2)
    if count.miss < 2 * count.error:
        return f"{miss} % (0 % to {format_number(100 * count.miss + 200 * count.error, 2)} %)"
    return f"{miss} % ± {half} %"


def _seen(count: ServerCount | None) -> str:
    seen = None if count is None else count.simulated_hit_rate
    return "–" if seen is None else mean_text(seen, lambda share: f"{format_number(100 * share, 4)} %")


def capacity_text(report: CapacityReport) -> str:
    """Format the output of ``nona capacity``."""
    rows, others = capacity_rows(report), others_finding(report)
    findings = [capacity_finding(report), *([others] if others else [])]
    return "\n".join([*findings, "", text_table(rows, list(rows[0]))])
