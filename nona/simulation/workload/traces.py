"""Readers of arrival traces: files of timestamps or of counts become arrival instants in seconds.

Instants start at 0 with the first row and are sorted. Three formats are known:

* a column of times: numbers (seconds) or timestamps, with or without a header;
* the Azure LLM inference traces of 2023 and 2024 (``TIMESTAMP,ContextTokens,GeneratedTokens``;
  Patel et al., ISCA 2024; Stojkovic et al., HPCA 2025): seven decimals without a zone, or up to six
  with one, mixed with whole seconds;
* the Azure Functions trace of 2019 (Shahrad et al., ATC 2020): a row per function, a count per minute
  of the day. Within a minute the instants are uniform (a Poisson process given its count) or
  equidistant.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError

MAX_ARRIVALS = 20_000_000
MINUTE_S = 60.0
Within = Literal["uniform", "equidistant"]
_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,12}))?\s*(Z|[+-]\d\d:?\d\d)?", re.ASCII
)


def parse_time(text: str) -> tuple[int, float]:
    """Whole seconds and the fraction, of a number of seconds or of a timestamp (UTC if without zone).

    Two parts, because seconds since 1970 with seven decimals do not fit a float.

    >>> parse_time("2023-11-16 18:17:03.9799600")
    (1700158623, 0.97996)
    >>> parse_time("2024-05-12 00:00:00+00:00")[0] - parse_time("2024-05-11T23:00:00-01:00")[0]
    0
    """
    match = _STAMP.fullmatch(text.strip())
    if match is None:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError("not finite")
        return math.floor(value), value - math.floor(value)
    *whole, fraction, zone = match.groups()
    offset = 0
    if zone and zone != "Z":
        digits = zone.replace(":", "")
        offset = (1 if digits[0] == "+" else -1) * (int(digits[1:3]) * 3600 + int(digits[3:5]) * 60)
    seconds = int(datetime(*map(int, whole), tzinfo=UTC).timestamp()) - offset  # type: ignore[arg-type, misc]
    return seconds, float(f"0.{fraction}") if fraction else 0.0


def _rows(data: bytes, filename: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered rows that are not blank; line numbers as an editor shows them."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SimulationError(f"Trace {filename!r}: it is not text in UTF-8; save it as CSV.") from None
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        for row in reader:
            if row and any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise SimulationError(
            f"Trace {filename!r}, line {reader.line_num}: it is not CSV ({error}); save it as CSV."
        ) from None


def _from_stamps(rows: Iterator[tuple[int, list[str]]], column: int, filename: str) -> NDArray[np.float64]:
    whole, fraction = [], []
    for line, row in rows:
        try:
            seconds, rest = parse_time(row[column])
        except (ValueError, IndexError, OverflowError):
            found = row[column] if column < len(row) else ""
            raise SimulationError(
                f"Trace {filename!r}, line {line}: {found[:40]!r} is neither a number of seconds nor a "
                "timestamp; write for example 0.25 or 2023-11-16 18:17:03.97996."
            ) from None
        whole.append(seconds)
        fraction.append(rest)
    if not whole:
        raise SimulationError(f"Trace {filename!r}: it has no arrivals; give at least one row.")
    first = min(whole)
    times = np.array([w - first for w in whole], dtype=np.float64) + np.array(fraction, dtype=np.float64)
    times.sort()
    return np.asarray(times - times[0], dtype=np.float64)


def read_times(data: bytes, filename: str) -> NDArray[np.float64]:
    """A CSV whose first column holds times; the header, if any, is left out.

    >>> read_times(b"time\\n3\\n1.5\\n", "t.csv").tolist()
    [0.0, 1.5]
    """

    def without_header() -> Iterator[tuple[int, list[str]]]:
        for place, (line, row) in enumerate(_rows(data, filename)):
            if place == 0 and any(c.isalpha() for c in _STAMP.sub("", row[0])) and not _is_number(row[0]):
                continue
            yield line, row

    return _from_stamps(without_header(), 0, filename)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_azure_llm(data: bytes, filename: str) -> NDArray[np.float64]:
    """The Azure LLM inference traces: the column ``TIMESTAMP``, wherever it stands."""
    rows = _rows(data, filename)
    _, header = next(rows, (0, [""]))
    names = [name.strip() for name in header]
    if "TIMESTAMP" not in names:
        raise SimulationError(
            f"Trace {filename!r}: its header {','.join(names)[:60]!r} has no TIMESTAMP; "
            "give an Azure LLM inference trace."
        )
    return _from_stamps(rows, names.index("TIMESTAMP"), filename)


def read_azure_functions(
    data: bytes,
    filename: str,
    *,
    function: str | None = None,
    within: Within = "uniform",
    seed: int = 0,
) -> NDArray[np.float64]:
    """The Azure Functions trace of 2019: minute counts, summed over all rows or of one function.

    Parameters
    ----------
    function
        Its ``HashFunction``; all functions together without it.
    within
        How the arrivals of a minute lie in it. ``uniform`` draws from ``seed``.
    """
    rows = _rows(data, filename)
    _, header = next(rows, (0, [""]))
    names = [name.strip() for name in header]
    minutes = [i for i, name in enumerate(names) if name.isascii() and name.isdigit()]
    if not minutes or "HashFunction" not in names:
        raise SimulationError(
            f"Trace {filename!r}: its header has no HashFunction and minutes 1, 2, …; "
            "give an invocations_per_function file."
        )
    place = names.index("HashFunction")
    counts = np.zeros(max(int(names[i]) for i in minutes), dtype=np.int64)
    for line, row in rows:
        if function is None or (place < len(row) and row[place] == function):
            _add_counts(counts, row, minutes, names, f"Trace {filename!r}, line {line}")
    total = int(counts.sum())
    if not 0 < total <= MAX_ARRIVALS:
        what = "all functions" if function is None else f"function {function!r}"
        raise SimulationError(
            f"Trace {filename!r}: {what} together have {total} arrivals; there must be 1 to {MAX_ARRIVALS}."
        )
    return spread_counts(counts, within, np.random.default_rng(seed))


def _add_counts(
    counts: NDArray[np.int64], row: list[str], minutes: list[int], names: list[str], where: str
) -> None:
    for i in minutes:
        cell = row[i].strip() if i < len(row) else ""
        if cell and not (cell.isascii() and cell.isdigit() and len(cell) < 10):
            raise SimulationError(
                f"{where}: the count {cell[:40]!r} of minute {names[i]} must be a whole number of at least 0."
            )
        if cell and int(names[i]) > 0:
            counts[int(names[i]) - 1] += int(cell)


def spread_counts(counts: NDArray[np.int64], within: Within, rng: np.random.Generator) -> NDArray[np.float64]:
    """Instants of ``counts[m]`` arrivals in minute m, sorted; the first minute begins at 0.

    >>> spread_counts(np.array([2, 0, 1]), "equidistant", np.random.default_rng(0)).tolist()
    [15.0, 45.0, 150.0]
    """
    starts = np.repeat(np.arange(len(counts), dtype=np.float64), counts)
    if within == "uniform":
        offsets = rng.random(len(starts))
    else:
        before = np.repeat(np.cumsum(counts) - counts, counts)
        offsets = (np.arange(len(starts)) - before + 0.5) / np.repeat(counts, counts)
    return np.sort((starts + offsets) * MINUTE_S)


def read_trace(data: bytes, filename: str) -> NDArray[np.float64]:
    """Read a trace in whichever known format its header shows."""
    head = data[:4096].decode("utf-8-sig", errors="replace").partition("\n")[0]
    names = {name.strip() for name in head.split(",")}
    format_name = "times"
    if "TIMESTAMP" in names:
        format_name = "azure-llm"
    elif "HashFunction" in names:
        format_name = "azure-functions"
    return TRACE_READERS[format_name](data, filename)


TRACE_READERS: Mapping[str, Callable[[bytes, str], NDArray[np.float64]]] = {
    "times": read_times,
    "azure-llm": read_azure_llm,
    "azure-functions": read_azure_functions,
}
