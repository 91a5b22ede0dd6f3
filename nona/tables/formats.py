"""Numbers as people read them: times, shares, money, factors, means with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nona.results.document import Estimate
from nona.units import format_number, format_time

Show = Callable[[float], str]
UNEVEN = 0.2  # of a half-width: from there on an interval is written by its ends


def or_dash(value: float | None, show: Any) -> str:
    """The value as ``show`` writes it, or a dash.

    >>> or_dash(0.5, "{:.0%}".format), or_dash(None, str)
    ('50%', '–')
    """
    return "–" if value is None else str(show(value))


def time_text(seconds: float | None) -> str:
    """A time with its unit, or a dash where there is none.

    >>> time_text(0.002), time_text(None)
    ('2 ms', '–')
    """
    return or_dash(seconds, format_time)


def share_text(share: float, digits: int = 0, sign: str = "") -> str:
    """A share in per cent, with a space as SI has it; halves are rounded up, as browsers round them.

    >>> share_text(0.125, 1), share_text(-0.5, sign="+"), share_text(0.4725, 1)
    ('12.5 %', '-50 %', '47.3 %')
    """
    return f"{100 * share * (1 + 1e-12):{sign}.{digits}f} %"


def percent_text(share: float | None) -> str:
    """A share in per cent, or a dash where it is not known.

    >>> percent_text(0.5), percent_text(None)
    ('50.0 %', '–')
    """
    return or_dash(share, lambda known: share_text(known, 1))


def short_share(share: float) -> str:
    """Format a share in per cent to three digits, rounded down; next to 100 % to the digit that differs.

    >>> short_share(0.991423), short_share(0.98964), short_share(0.9997), short_share(1e-103)
    ('99.1 %', '98.9 %', '99.97 %', '0 %')
    """
    value = round(100 * share, 9)
    decimals = 1 if value >= 10 else 2 if value >= 1 else 3
    if 0 < 100 - value < 0.1:
        decimals = math.ceil(-math.log10(100 - value) - 1e-9)
    return f"{math.floor(value * 10**decimals + 1e-6) / 10**decimals:.12g} %"


def times_text(ratio: float) -> str:
    """Format a ratio as a factor.

    >>> times_text(1234.5)
    '1,230 ×'
    """
    return f"{format_number(ratio)} ×"


def money(amount: float | None, currency: str) -> str:
    """An amount with its currency, which is a label only.

    >>> money(14.2, "USD"), money(None, "EUR"), money(222_222.2, "USD")
    ('14.2 USD', '–', '222,000 USD')
    """
    return or_dash(amount, lambda value: f"{format_number(value)} {currency}")


def per_hour(amount: float, currency: str) -> str:
    """Format a cost of servers per hour, alike for every family.

    >>> per_hour(14.2, "USD")
    '14.2 USD per hour'
    """
    return f"{money(amount, currency)} per hour"


def mean_text(value: Estimate, show: Show) -> str:
    """``mean ± half-width``, each shown by ``show``; a dash where there is no mean.

    An interval that reaches much farther to one side, or of which a part was cut off, for no share lies
    beyond 1, is written by its ends where these digits tell them apart.

    >>> mean_text(Estimate(mean=0.25, ci95=(0.2, 0.3)), "{:.2f}".format)
    '0.25 ± 0.05'
    >>> mean_text(Estimate(mean=0.99, ci95=(0.97, 1.0)), "{:.2f}".format)
    '0.99 (0.97 to 1.00)'
    >>> mean_text(Estimate(mean=0.9999, ci95=(0.9998, 1.0)), "{:.1%}".format)
    '100.0% ± 0.0%'
    """
    if value.mean is None:
        return "–"
    half = value.half_width
    if half is None or value.ci95 is None:
        return show(value.mean)
    low, high = value.ci95
    uneven = abs(high + low - 2 * value.mean)
    cut = uneven > 1e-6 * max(abs(value.mean), half) and (low == 0 or high == 1)
    if (cut or uneven > UNEVEN * half) and show(low) != show(high):
        return f"{show(value.mean)} ({show(low)} to {show(high)})"
    half = 0.0 if cut else half
    return f"{show(value.mean)} ± {show(half if half > 1e-9 * abs(value.mean) else 0.0)}"  # below: rounding
