"""What a GPU costs per hour: the shipped list, with dates and sources; a scenario may say otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from nona.hardware.table_file import shipped_table


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per hour of a GPU, when and by whom; ``checked`` is ``yes`` or ``recollected``."""

    usd_per_hour: float
    date: str
    source: str
    checked: str


@cache
def listed_prices() -> Mapping[str, Price]:
    """The shipped list.

    >>> listed_prices()["v100"].usd_per_hour
    2.48
    """
    return {
        row["gpu"]: Price(float(row["usd_per_hour"]), row["date"], row["source"], row["checked"])
        for row in shipped_table("nona.training", "data/prices.csv")
    }


def prices_of(gpus: Iterable[str], given: Mapping[str, float]) -> dict[str, float]:
    """US dollars per hour of each GPU: as given, else as listed, else 0.

    >>> prices_of(["v100", "own"], {"own": 1.5})
    {'v100': 2.48, 'own': 1.5}
    """
    listed = listed_prices()
    return {g: given.get(g, listed[g].usd_per_hour if g in listed else 0.0) for g in gpus}
