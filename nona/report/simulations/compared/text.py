"""The changes from the baseline, as text and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from nona.report.means import Show, mean_text
from nona.report.simulations.finding.headline import REFERENCE
from nona.report.text import listed, share_text
from nona.results.document import Interval
from nona.results.estimate import Estimate
from nona.results.simulation.compared import Change, Changes, Measure
from nona.results.simulation.report import Schedulers
from nona.units import format_time


def points(share: float) -> str:
    """A difference of shares in percentage points.

    >>> points(0.0123)
    '1.23 points'
    """
    return f"{100 * share:.3g} points"


def baseline_headline(
    what: str, changes: Mapping[str, Changes], states: Mapping[str, tuple[str, str]]
) -> str:
    """The finding in a sentence: the effect of ``what`` on the scheduler that now has the lowest mean JCT.

    ``states`` has the state of each scheduler in the baseline and in this run.
    """
    means = {n: r.jct_s.new.mean for n, r in changes.items()}
    known = [n for n, m in means.items() if m is not None]
    if not known:
        return f"{what}: no scheduler has a steady state." if changes else f"{what}: no scheduler in common."
    name = min(known, key=lambda n: (means[n], n != REFERENCE))
    row = changes[name]
    told = f"{what}: {_jct(name, row.jct_s)}{_hits(row.slo_hit_rate)}{_loads(row)}{_states(states)}."
    return told if any(old != new for old, new in states.values()) else told + _gains(name, changes)


def _gains(fastest: str, changes: Mapping[str, Changes]) -> str:
    """Who gains where the fastest scheduler does not, who loses, or that nobody does either.

    Empty without intervals.
    """
    if any(row.jct_s.change.ci95 is None for row in changes.values()):
        return ""
    gain = [n for n, row in changes.items() if _better(row)]
    if gain and fastest not in gain:
        gains = "gains" if len(gain) == 1 else "gain"
        return f" {listed(gain)} {gains} by it; {fastest}, the fastest, does not."
    if lose := [n for n, row in changes.items() if n != fastest and _slower(row)]:
        return f" {listed(lose)} {'takes' if len(lose) == 1 else 'take'} clearly longer than before."
    if gain or any(row.jct_s.clear or row.slo_hit_rate.clear for row in changes.values()):
        return ""
    return " No scheduler's mean JCT or SLO hits differ clearly: this run shows neither gain nor loss."


def _better(row: Changes) -> bool:
    """Whether jobs are clearly quicker, or clearly more of them keep their SLO."""
    jct, hits = row.jct_s, row.slo_hit_rate
    quicker = jct.clear and jct.change.mean is not None and jct.change.mean < 0
    return quicker or (hits.clear and hits.change.mean is not None and hits.change.mean > 0)


def _slower(row: Changes) -> bool:
    mean = row.jct_s.change.mean
    return row.jct_s.clear and mean is not None and mean > 0


def effect_text(found: Schedulers, earlier: Schedulers) -> str:
    """Who is faster and who slower than before, where the intervals of the means do not overlap.

    Stricter than an interval of the difference: what it names differs, what it does not name may differ too.
    Empty where no scheduler has both means with intervals.
    """
    sides: dict[str, list[str]] = {"clearly faster": [], "clearly slower": [], "not clear": []}
    for name, now in found.items():
        new = now.jct_s.ci95
        old = earlier[name].jct_s.ci95 if name in earlier else None
        if new is None or old is None:
            continue
        side = "clearly faster" if new[1] < old[0] else "not clear"
        sides["clearly slower" if new[0] > old[1] else side].append(name)
    if not any(sides.values()):
        return ""
    told = "; ".join(f"{side}: {listed(names)}" for side, names in sides.items() if names)
    if not sides["clearly faster"] and not sides["clearly slower"]:
        told = "nothing is gained: no scheduler's mean JCT differs clearly"
    return f"Compared with the scenario as it stands, {told}."


def _jct(name: str, row: Change) -> str:
    change, old = row.change, row.old.mean
    if change.mean is None:
        return f"{name} now has a mean JCT of {mean_text(row.new, format_time)}, and had none before"
    share = f" ({_change_text(change.mean / old)})" if old else ""
    if change.ci95 is None:
        return f"the mean JCT of {name} changes by {format_time(change.mean)}{share}, without an interval"
    if not row.clear:
        return f"the mean JCT of {name} does not change clearly ({mean_text(change, format_time)})"
    word = "falls" if change.mean < 0 else "rises"
    return f"the mean JCT of {name} {word} by {mean_text(_size(change), format_time)}{share}"


def _change_text(share: float) -> str:
    """A relative change, with a decimal where it is below one per cent.

    >>> _change_text(0.25), _change_text(-0.002)
    ('+25 %', '-0.2 %')
    """
    return share_text(share, int(abs(share) < 0.01), "+")


def _size(change: Estimate) -> Estimate:
    """The change without its sign."""
    if change.mean is None or change.mean >= 0:
        return change
    mirrored: Interval = None if change.ci95 is None else (-change.ci95[1], -change.ci95[0])
    return Estimate(mean=-change.mean, ci95=mirrored)


def _hits(row: Change) -> str:
    mean = row.change.mean
    if mean is None or not row.clear:
        return ""
    return f", {mean_text(_size(row.change), points)} {'more' if mean > 0 else 'fewer'} SLO hits"


def _loads(row: Changes) -> str:
    told = []
    for word, of in (("executors", row.compute), ("link", row.network)):
        old, new = of.old.mean, of.new.mean
        if old is not None and new is not None:
            digits = int(max(old, new) < 0.1)
            told.append(f"{word} {share_text(old, digits)} → {share_text(new, digits)} busy")
    return f"; {', '.join(told)}" if told else ""


def _states(states: Mapping[str, tuple[str, str]]) -> str:
    changed = [f"{n} was {old}, is {new}" for n, (old, new) in states.items() if old != new]
    return f"; {', '.join(changed)}" if changed else ""


COLUMNS: tuple[tuple[Measure, str, Show, Show], ...] = (
    ("jct_s", "mean JCT", format_time, format_time),
    ("slo_hit_rate", "SLO hits", partial(share_text, digits=2), points),
    ("compute", "executors", partial(share_text, digits=1), points),
    ("network", "link", partial(share_text, digits=1), points),
)


def columns_of(measure: Measure) -> list[str]:
    """The columns of :func:`baseline_rows` that one measure needs.

    >>> columns_of("network")
    ['scheduler', 'link, baseline', 'link, this run', 'link, change']
    """
    words = [word for known, word, *_ in COLUMNS if known == measure]
    return ["scheduler", *(f"{word}, {of}" for word in words for of in ("baseline", "this run", "change"))]


def baseline_rows(changes: Mapping[str, Changes]) -> list[dict[str, str]]:
    """One row per scheduler: old, new and change of every measure, as text."""
    rows = []
    for name, row in changes.items():
        shown = {"scheduler": name}
        for measure, word, value, change in COLUMNS:
            of = row.of(measure)
            shown[f"{word}, baseline"] = mean_text(of.old, value)
            shown[f"{word}, this run"] = mean_text(of.new, value)
            shown[f"{word}, change"] = mean_text(of.change, change) + (" *" if of.clear else "")
        rows.append(shown)
    return rows
