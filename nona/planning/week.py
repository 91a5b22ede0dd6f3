"""Traffic by hour of the week: 168 factors on the scenario's traffic."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nona.core.errors import ScenarioError
from nona.core.foreign import CsvFile

COLUMNS = ("factor", "rate")
DAY, WEEK = 24, 168
MOST_FACTOR = 1000.0


@dataclass(frozen=True, slots=True)
class WeekProfile:
    """A factor on the traffic for each of the 168 hours.

    >>> day = WeekProfile.repeated([1.0] * 12 + [2.0] * 12)
    >>> day.peak, day.mean
    (2.0, 1.5)
    """

    factors: tuple[float, ...]

    @staticmethod
    def repeated(factors: Sequence[float], name: str = "of the week") -> WeekProfile:
        """Return a day or a week of factors.

        A day is taken for every day. ``name`` is for what is wrong with them.

        Raises ``ScenarioError`` for another number of hours, a factor that is no number of at least 0, or no
        traffic at all.
        """
        if len(factors) not in (DAY, WEEK):
            raise ScenarioError(
                [
                    f"Profile {name!r}: it has {len(factors)} hours; give 24 (a day) or 168 (a week from "
                    "Monday 0:00)."
                ]
            )
        wrong = next((h for h, f in enumerate(factors) if not 0 <= f <= MOST_FACTOR), None)
        if wrong is not None:
            raise ScenarioError(
                [
                    f"Profile {name!r}, hour {wrong}: {factors[wrong]:g} times the traffic must be a number "
                    f"from 0 to {MOST_FACTOR:g}; correct it."
                ]
            )
        if not any(factors):
            raise ScenarioError([f"Profile {name!r}: no hour has any traffic; give factors above 0."])
        return WeekProfile(tuple(factors) * (WEEK // len(factors)))

    @property
    def peak(self) -> float:
        """The largest factor."""
        return max(self.factors)

    @property
    def mean(self) -> float:
        """The mean of the factors."""
        return math.fsum(self.factors) / len(self.factors)


def is_table(data: bytes) -> bool:
    r"""Return whether a CSV file has a column of factors or rates; else it is a trace.

    >>> is_table(b'\n"hour","factor"\n0,1\n'), is_table(b"0.5\n0.7\n")
    (True, False)
    """
    lines = data[:4096].decode("utf-8-sig", "replace").splitlines()
    head = next((line for line in lines if line.strip()), "")
    # Separated by any sign that a CSV file may have.
    return not set(COLUMNS).isdisjoint(c.strip(' "').lower() for c in re.split("[,;\\t]", head))


def read_profile(data: bytes, name: str, rate: float) -> WeekProfile:
    r"""Return a profile from a table with a column ``factor``, or ``rate`` in queries/s.

    ``hour`` orders the rows.

    ``rate`` is that of the scenario, all models together.

    >>> table = "hour,rate\n" + "".join(f"{h},{5 * (h + 1)}\n" for h in range(24))
    >>> read_profile(table.encode(), "p.csv", 10.0).factors[:3]
    (0.5, 1.0, 1.5)

    Raises ``ScenarioError`` in one line with file and line number.
    """
    what = f"Profile {name!r}"
    rows = CsvFile(data, what, lambda text: ScenarioError([text]), WEEK + 1).numbered_rows()
    head = [cell.strip(' "').lower() for cell in next(rows, (0, list[str]()))[1]]
    column = next((c for c in COLUMNS if c in head), None)
    if column is None:
        raise ScenarioError([f"{what}: it has no column 'factor' or 'rate'; add one."])
    place, hours = head.index(column), head.index("hour") if "hour" in head else None
    factors: dict[int, float] = {}
    for line, cells in rows:
        value = _number(cells, place, f"{what}, line {line}")
        hour = len(factors) if hours is None else _hour(cells, hours, f"{what}, line {line}")
        if hour in factors:
            raise ScenarioError([f"{what}, line {line}: hour {hour} is there twice; keep one row of it."])
        factors[hour] = value if column == "factor" else value / rate
    if sorted(factors) != list(range(len(factors))):
        raise ScenarioError([f"{what}: hours must be 0, 1, … without a gap; add the missing rows."])
    return WeekProfile.repeated([factors[h] for h in range(len(factors))], name)


def _number(cells: Sequence[str], place: int, where: str) -> float:
    text = cells[place].strip() if place < len(cells) else ""
    try:
        return float(text)
    except ValueError:
        raise ScenarioError([f"{where}: {text!r} is not a number; correct it."]) from None


def _hour(cells: Sequence[str], place: int, where: str) -> int:
    hour = _number(cells, place, where)
    if hour not in range(WEEK):
        raise ScenarioError(
            [f"{where}: hour {hour:g} must be a whole number from 0 to {WEEK - 1}; correct it."]
        )
    return int(hour)


def profile_of_trace(arrivals_s: ArrayLike, rate: float, name: str) -> WeekProfile:
    """Return a profile from instants of arrival, in seconds from the first.

    It is of the first week, or else of the first day.

    Raises ``ScenarioError`` when it covers less than a day.
    """
    times = np.asarray(arrivals_s, dtype=float)
    whole = int(times.max() // 3600) if len(times) else 0
    hours = WEEK if whole >= WEEK else DAY
    if whole < DAY - 1:
        raise ScenarioError([f"Profile {name!r}: the trace covers {whole} whole hours; give at least 24."])
    counts = np.bincount((times[times < hours * 3600] // 3600).astype(int), minlength=hours)
    return WeekProfile.repeated((counts / (3600 * rate)).tolist(), name)


def schedule_hours(counts: Sequence[int], startup_h: float) -> float:
    """Server hours of a week with ``counts`` servers hour by hour, those that start paid while they do.

    Formula: Σ_h n_h + startup · Σ_h max(0, n_(h+1) − n_h), the week closed to a circle.

    >>> schedule_hours([1, 1, 3, 2], 0.5)
    8.0
    """
    after = [*counts[1:], *counts[:1]]
    return sum(counts) + startup_h * sum(max(0, b - a) for a, b in zip(counts, after, strict=True))
