"""What a GPU costs per hour and draws in watts: the shipped list, with dates and sources.

Prices are as of their date and of one seller each: a scenario may say otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from nona.hardware.table_file import shipped_table


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per hour of a GPU, when and by whom; ``checked`` is ``yes`` or ``recollected``.

    ``watts_idle`` and ``watts_busy`` are what the GPU draws, ``None`` where no source is at hand; busy is the
    board's stated limit.
    """

    usd_per_hour: float
    date: str
    source: str
    checked: str
    watts_idle: float | None = None
    watts_busy: float | None = None
    watts_source: str = ""


@cache
def listed_prices() -> Mapping[str, Price]:
    """The shipped list.

    >>> listed_prices()["v100"].usd_per_hour
    2.48
    """
    return {
        row["gpu"]: Price(
            float(row["usd_per_hour"]),
            row["date"],
            row["source"],
            row["checked"],
            float(row["watts_idle"]) if row["watts_idle"] else None,
            float(row["watts_busy"]) if row["watts_busy"] else None,
            row["watts_source"],
        )
        for row in shipped_table("nona.planning", "data/prices.csv")
    }


def prices_of(gpus: Iterable[str], given: Mapping[str, float]) -> dict[str, float]:
    """US dollars per hour of each GPU: as given, else as listed, else 0.

    >>> prices_of(["v100", "own"], {"own": 1.5})
    {'v100': 2.48, 'own': 1.5}
    """
    listed = listed_prices()
    return {g: given.get(g, listed[g].usd_per_hour if g in listed else 0.0) for g in gpus}
