"""A placement as sentences computed from its numbers; its notes in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nona.report.placements.parts import PARTS, TimeParts
from nona.results.placement.congestion import CongestionCurve
from nona.results.placement.prediction import PredictedMix
from nona.units import format_time

NAMES = {
    "compute": "compute",
    "transfer": "transfers",
    "network_wait": "waits at the link",
    "server_wait": "waits at servers",
    "joins": "joins and own work",
}


def split_finding(models: Mapping[str, TimeParts]) -> str:
    """The model with the smallest share of compute in its JCT, and its largest other parts.

    >>> waits = {"network_wait_s": 0.0, "server_wait_s": 0.0}
    >>> split_finding({"a": TimeParts(4.0, compute_s=3.0, transfer_s=1.0, **waits)})
    'a: 75 % compute, then 25 % transfers'
    """
    worst = min(models, key=lambda n: _share(models[n], "compute"))
    first, second = sorted(PARTS, key=lambda k: -PARTS[k](models[worst]))[:2]
    told = [f"{100 * _share(models[worst], k):.0f} % {NAMES[k]}" for k in (first, second)]
    text = f"{worst}: {told[0]}" + (f", then {told[1]}" if PARTS[second](models[worst]) > 0 else "")
    return text if len(models) == 1 else f"Least compute-bound is {text}"


def _share(times: TimeParts, part: str) -> float:
    return PARTS[part](times) / times.jct_s if times.jct_s else 0.0


def congestion_finding(curve: CongestionCurve) -> str:
    """The background load above which splitting no longer pays."""
    now, stops = curve.now, curve.stops
    if stops is None:
        return f"By formula splitting pays at all background loads from the present {now:.0%} to saturation"
    if stops <= now:
        where = (
            f"at background loads from the present {now:.0%} of the link upwards"
            if now > 0
            else "at any background load"
        )
        return f"By formula splitting does not pay {where}: all stays local"
    return (
        f"By formula splitting stops paying when the background uses {stops:.0%} of the link; at present it "
        f"uses {now:.0%}"
    )


def plain_notes(notes: Sequence[str]) -> list[str]:
    """The placement's notes in plain words, notes of the same kind merged.

    >>> many = [f"Restricted: interior of 10 tasks, {n} kinds; the bounds hold for all." for n in (1, 2)]
    >>> [n.split(":")[0] for n in plain_notes(many)]
    ['For 2 kinds of sub-graph not every configuration was tried']
    """
    restricted = [n for n in notes if n.startswith("Restricted: ")]
    told = [n for n in notes if n not in restricted]
    if restricted:
        kinds = "one kind" if len(restricted) == 1 else f"{len(restricted)} kinds"
        details = "; ".join(n.removeprefix("Restricted: ").partition("; the bounds")[0] for n in restricted)
        told.append(
            f"For {kinds} of sub-graph not every configuration was tried: {details}. The bounds still hold "
            "for all configurations, so the gap is valid: a placement among those not tried can be better by "
            "at most the gap."
        )
    return told


def price_text(predicted: PredictedMix) -> str:
    """The price of congestion in words."""
    price = predicted.congestion_price_s_per_byte
    if price is None:
        return "The price of congestion has no value here: the link is at its limit."
    if price == 0:
        return "No query waits for the link here, so one more byte on it has no cost."
    return (
        f"One more megabyte on the link costs all queries together {format_time(price * 1e6)} of waiting "
        "(the price of congestion, by formula)."
    )
