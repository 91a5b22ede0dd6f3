"""What a placement says, in sentences made from its numbers; its notes in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.units import format_time

Row = Mapping[str, Any]
SHARES = {
    "compute_s": "compute",
    "transfer_s": "transfers",
    "network_wait_s": "waits at the link",
    "server_wait_s": "waits at servers",
}
SAME = 1e-6


def split_finding(models: Mapping[str, Row]) -> str:
    """What most of the time goes to, and in which model the least of it is compute.

    >>> none = {"network_wait_s": 0.0, "server_wait_s": 0.0}
    >>> split_finding({"a": {"jct_s": 4.0, "compute_s": 3.0, "transfer_s": 1.0, **none}})
    'a: 75 % compute, then 25 % transfers'
    """
    worst = min(models, key=lambda n: _share(models[n], "compute_s"))
    ordered = sorted(SHARES, key=lambda k: -models[worst][k])[:2]
    told = [f"{100 * _share(models[worst], k):.0f} % {SHARES[k]}" for k in ordered]
    text = f"{worst}: {told[0]}" + (f", then {told[1]}" if models[worst][ordered[1]] > 0 else "")
    return text if len(models) == 1 else f"Least compute-bound is {text}"


def _share(model: Row, key: str) -> float:
    return float(model[key] / model["jct_s"]) if model["jct_s"] else 0.0


def comparison_finding(data: Row) -> str:
    """How much nona's placement is below local and spread."""
    best = data["nona"]["objective_s"]
    parts = []
    for name in ("local", "spread"):
        value = data[name]["predicted"]["jct_s"] if data[name] else None
        if value is None:
            what = "executors" if data["local"] is None else "the link"
            parts.append(f"{name} overloads {what}")
        elif abs(value - best) <= SAME * best:
            parts.append(f"as fast as {name}")
        else:
            word = "below" if best < value else "above"
            parts.append(f"{100 * abs(1 - best / value):.3g} % {word} {name}")
    return "nona: " + ", ".join(parts)


def congestion_finding(curve: Row) -> str:
    """From which background load on splitting no longer pays."""
    now, stops = curve["now"], curve["stops"]
    if stops is None:
        return f"Splitting pays from the link's {now:.0%} background now up to saturation"
    if stops <= now:
        where = f"from the link's {now:.0%} background now upwards" if now > 0 else "at any background load"
        return f"Splitting does not pay {where}: all stays local"
    return f"Splitting stops paying when the background fills {stops:.0%} of the link; now it fills {now:.0%}"


def plain_notes(notes: Sequence[str]) -> list[str]:
    """The placement's notes, equal kinds folded into one, in plain words.

    >>> many = [f"Restricted: interior of 10 tasks, {n} kinds; the bounds hold for all." for n in (1, 2)]
    >>> [n.split(":")[0] for n in plain_notes(many)]
    ['In 2 kinds of sub-graph not every configuration was tried']
    """
    restricted = [n for n in notes if n.startswith("Restricted: ")]
    told = [n for n in notes if n not in restricted]
    if restricted:
        kinds = "one kind" if len(restricted) == 1 else f"{len(restricted)} kinds"
        details = "; ".join(n.removeprefix("Restricted: ").partition("; the bounds")[0] for n in restricted)
        told.append(
            f"In {kinds} of sub-graph not every configuration was tried: {details}. The bounds hold for all "
            "configurations all the same, so the gap is honest; a better placement among those not tried can "
            "be better by no more than the gap."
        )
    return told


def gap_words(gap: float | None, anywhere: float | None) -> str:
    """Both gaps in a sentence.

    >>> gap_words(1e-5, 0.021)
    'No placement is better by more than 0.001 % at this server wait, nor by more than 2.1 % at any.'
    """
    if gap is None:
        return "This solver gives no bound, so nothing is known of better placements."
    text = f"No placement is better by more than {100 * gap:.2g} % at this server wait"
    return text + ("." if anywhere is None else f", nor by more than {100 * anywhere:.2g} % at any.")


def price_text(predicted: Row) -> str:
    """The price of congestion in words."""
    price = predicted["congestion_price_s_per_byte"]
    if price is None:
        return "The price of congestion has no value here: the link is at its limit."
    if price == 0:
        return "No query waits for the link here, so one more byte on it costs nobody anything."
    return (
        f"One more megabyte on the link costs all queries together {format_time(price * 1e6)} of waiting "
        "(the price of congestion, modelled)."
    )
