"""Prices: what a GPU costs, and prices per hour from what people write.

Prices are as of their date and of one seller each: a scenario may say otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Literal

from nona.cluster.hardware.table_file import shipped_table
from nona.core.errors import ScenarioError

HOURS: Mapping[str, float] = {
    "h": 1.0,
    "hour": 1.0,
    "day": 24.0,
    "week": 168.0,
    "month": 730.0,
    "year": 8760.0,
}
_PRICE = re.compile(
    r"\s*(?P<amount>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(?:/\s*(?P<many>\d+(?:\.\d+)?)?\s*(?P<unit>[a-z]+))?\s*"
)
_GROWTH = re.compile(
    r"\s*(?P<share>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*%\s*/\s*(?P<unit>week|month|year)\s*"
)
MOST_PRICE = 1e9


def per_hour(value: object) -> float:
    """Return a price per hour: a number, or a text such as ``1.29/h``, ``900/month`` or ``30000/3 years``.

    The last is something bought for 30,000 that serves three years. A month has 730 h, a year 8760 h.

    >>> per_hour("1.5"), per_hour("730/month"), round(per_hour("26280/3 years"), 6)
    (1.5, 1.0, 1.0)

    Raises ``ScenarioError`` for anything else, a negative price, or a time that is not above 0.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        price = float(value)
    else:
        match = _PRICE.fullmatch(value) if isinstance(value, str) else None
        unit = (match["unit"] or "h") if match else ""
        hours = HOURS.get(unit) or HOURS.get(unit.removesuffix("s"), 0.0)
        times = float(match["many"] or 1) if match else 0.0
        price = float(match["amount"]) / (hours * times) if match and hours * times > 0 else math.nan
    if not 0 <= price <= MOST_PRICE:
        raise ScenarioError(
            [f"Price {value!r}: it must be a number of at least 0; write 1.29, 900/month or 30000/3 years."]
        )
    return price


def growth_per_month(value: object) -> float:
    """Growth of the traffic as a share per month: 0.08, or a text such as ``8%/month`` or ``150%/year``.

    Formula: (1 + g)^(hours of a month / hours of the unit) − 1.

    >>> growth_per_month("8%/month"), round(growth_per_month("100%/year"), 4)
    (0.08, 0.0595)

    Raises ``ScenarioError`` for anything else, or a growth of −100 % or less.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        share, months = float(value), 1.0
    else:
        match = _GROWTH.fullmatch(value) if isinstance(value, str) else None
        share = float(match["share"]) / 100 if match else math.nan
        months = HOURS["month"] / HOURS[match["unit"]] if match else 1.0
    if not -1 < share <= 1000:
        raise ScenarioError(
            [f"Growth {value!r}: it must be a share per time above -100 %; write for example 8%/month."]
        )
    return share if months == 1 else float((1 + share) ** months - 1)


def growth_text(share: float) -> str:
    """Format a growth for :func:`growth_per_month`, over the time with which it is shortest.

    >>> growth_text(0.08), growth_text(growth_per_month("50%/year"))
    ('8%/month', '50%/year')
    >>> growth_per_month(growth_text(0.0123456789)) == 0.0123456789
    True
    """
    rates = {unit: (1 + share) ** (HOURS[unit] / HOURS["month"]) - 1 for unit in ("year", "week")}
    texts = [f"{100 * share:.10g}%/month", *(f"{100 * r:.6g}%/{unit}" for unit, r in rates.items())]
    exact = [text for text in texts if growth_per_month(text) == share]
    return min(exact, key=lambda text: text.index("%"), default=f"{100 * share!r}%/month")


def breaks_after(headroom: float, growth: float) -> int | None:
    """Return the first month m = 0, 1, … in which the traffic (1 + g)^m exceeds the headroom.

    ``None`` where it never does: no growth, or none that is known to be used up.

    >>> breaks_after(1.31, 0.08), breaks_after(0.9, 0.08), breaks_after(2.0, 0.0)
    (4, 0, None)
    """
    if headroom < 1:
        return 0
    if growth <= 0:
        return None
    return math.floor(math.log(headroom) / math.log1p(growth) + 1e-12) + 1


PriceKind = Literal["on-demand", "reserved", "bought"]
USD_PER_KWH = 0.083  # EIA, average of US industry in 2024, recollected


def age_text(as_of: str, today: date) -> str:
    """Format the age of a price of that year, month or day.

    >>> [age_text(d, date(2026, 11, 26)) for d in ("2026-11-09", "2024-12", "2024", "2026")]
    ['17 days', '23 months', '2 years', 'of this year']
    """
    year, month, day = ([int(p) for p in as_of.split("-")] + [0, 0])[:3]
    if not month:
        years = today.year - year
        return f"{years} year{'s' if years > 1 else ''}" if years > 0 else "of this year"
    days = (today - date(year, month, day or 1)).days
    return f"{days} days" if days < 60 else f"{days * 12 // 365} months"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per hour of a GPU, when and by whom; ``checked`` is ``yes`` or ``recollected``."""

    usd_per_hour: float
    date: str
    source: str
    checked: str


@cache
def listed_prices(kind: PriceKind = "on-demand") -> Mapping[str, Price]:
    """Return the shipped list of one kind.

    What is bought is written off, and draws power at its limit all the time.

    >>> listed_prices()["v100"].usd_per_hour, round(listed_prices("bought")["h100"].usd_per_hour, 2)
    (2.48, 1.2)
    """
    rows = shipped_table("nona.cluster", "data/prices.csv")
    prices = {}
    for row in rows:
        if row["kind"] == kind:
            power = float(row["watts"] or 0.0) / 1000 * USD_PER_KWH
            price = per_hour(row["usd_per_hour"]) + power
            prices[row["gpu"]] = Price(price, row["date"], row["source"], row["checked"])
    return prices


def prices_of(gpus: Iterable[str], given: Mapping[str, float]) -> dict[str, float]:
    """US dollars per hour of each GPU: as given, else as listed, else 0.

    >>> prices_of(["v100", "own"], {"own": 1.5})
    {'v100': 2.48, 'own': 1.5}
    """
    listed = listed_prices()
    return {g: given.get(g, listed[g].usd_per_hour if g in listed else 0.0) for g in gpus}
