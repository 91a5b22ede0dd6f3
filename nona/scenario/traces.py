"""Arrival traces: files of timestamps or counts, their rows, and the part that is replayed.

Instants start at 0 with the first row and are sorted. These layouts are known:

* a table with a column of times: CSV, JSON (a list of objects) or JSON lines. The column's name says that
  it holds arrivals (see :data:`_INSTANTS`) and in which unit, seconds without one (``arrival_ms``). So the
  traces of the Azure LLM service (2023 and 2024; Patel et al., ISCA 2024; Stojkovic et al., HPCA 2025) and
  BurstGPT's are read. A file without a header has one column, or one of dates;
* Mooncake's JSON lines, the one table whose ``timestamp`` counts milliseconds without saying so;
* GuideLLM's JSON report: every request of it arrives when it was started;
* the Azure Functions trace of 2019 (Shahrad et al., ATC 2020): a row per function, a count per minute
  of the day. Within a minute the instants are uniform (a Poisson process given its count).

A row may replay a window of a trace, and rows may divide one trace among them: by shares, where each
arrival goes to one row at random, whatever the seed, or by the value in a column. All that a row leaves
out is left out before the simulation, so that every scheduler and every engine sees the same instants.
"""

from __future__ import annotations

import io
import json
import math
import re
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError
from nona.core.foreign import MOST_ARRIVALS, MOST_MINUTES, MOST_TRACE_S, READ_CPU_S, CsvFile
from nona.core.random_streams import RandomStreams
from nona.scenario.arrivals import Arrivals
from nona.scenario.rows import ArrivalsSpec
from nona.scenario.schema import Scenario

MOST_VALUES = 50
Where = tuple[str, str]
Clock = tuple[str, str]
BY_HEADER: Clock = ("", "")
"""A column of the file, and the value that its rows must have."""


def numbered_rows(data: bytes, filename: str, lists: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Give the rows that are not blank, numbered as editors do; those of JSON follow one of their keys.

    With ``lists`` a list in JSON is a cell, too, as JSON.
    """
    if data[:99].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        return _json_rows(data, filename, lists)
    return CsvFile(data, f"Trace {filename!r}", SimulationError, MOST_ARRIVALS + 1).numbered_rows()


_MOONCAKE = frozenset({"timestamp", "input_length", "output_length", "hash_ids"})
MOST_JSON_OBJECTS, MOST_JSON_ITEMS = 2_000_000, 12_000_000


def _json_rows(data: bytes, filename: str, lists: bool) -> Iterator[tuple[int, list[str]]]:
    if data.count(b"{") + data.count(b"[") > MOST_JSON_OBJECTS or data.count(b",") > MOST_JSON_ITEMS:
        raise SimulationError(
            f"Trace {filename!r}: it holds more than {MOST_JSON_OBJECTS:,} objects or {MOST_JSON_ITEMS:,} "
            "values; give a smaller file."
        )
    keys: list[str] = []
    end = time.thread_time() + READ_CPU_S
    for line, record in _records(data, filename):
        if not (isinstance(record, dict) and record):
            raise SimulationError(
                f"Trace {filename!r}, line {line}: {str(record)[:40]!r} is no object with values; "
                "give one for each arrival."
            )
        if time.thread_time() > end:
            raise SimulationError(
                f"Trace {filename!r}, line {line}: reading it takes more than {READ_CPU_S:g} s of processor "
                "time; give a smaller file."
            )
        if not keys:
            keys = list(record)
            yield 1, [key + "_ms" * (key == "timestamp" and {*keys} == _MOONCAKE) for key in keys]
        values = (record.get(key) for key in keys)
        yield (
            line,
            [
                str(v) if isinstance(v, str | float | int) or (lists and isinstance(v, list)) else ""
                for v in values
            ],
        )


def _records(data: bytes, filename: str) -> Iterator[tuple[int, object]]:
    """Return the objects of JSON lines with their line numbers, of a list, or of GuideLLM's report."""
    line = 1
    try:
        text = data.decode("utf-8-sig")
        try:
            whole = json.loads(text)
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                raise
            for line, one in enumerate(io.StringIO(text), 1):
                if one.strip():
                    yield line, json.loads(one)
        else:
            if isinstance(whole, dict) and isinstance(whole.get("benchmarks"), list):
                whole = _guidellm_requests(whole["benchmarks"])
            yield from ((1, item) for item in (whole if isinstance(whole, list) else [whole]))
    except (ValueError, RecursionError):  # also what is not UTF-8, and numbers of thousands of digits
        raise SimulationError(
            f"Trace {filename!r}, line {line}: it begins as JSON and is not; give JSON lines, "
            "a list of objects or CSV."
        ) from None


def _guidellm_requests(benchmarks: list[object]) -> list[object]:
    """Return start and tokens of all runs' requests, whether they succeeded or not, if they were sent."""
    rows: list[object] = []
    for number, benchmark in enumerate(benchmarks, 1):
        parts = benchmark.get("requests") if isinstance(benchmark, dict) else None
        for requests in parts.values() if isinstance(parts, dict) else [parts]:
            for request in requests if isinstance(requests, list) else []:
                fields = request if isinstance(request, dict) else {}
                timings = info.get("timings") if isinstance(info := fields.get("info"), dict) else None
                named = timings.get("request_start") if isinstance(timings, dict) else None  # 0.4 alone
                if (start := fields.get("request_start_time", fields.get("start_time", named))) is not None:
                    tokens = {key: fields.get(key) for key in ("prompt_tokens", "output_tokens")}
                    rows.append({"start_time": start, "benchmark": f"benchmark {number}"} | tokens)
    return rows


def _column_of(names: Sequence[str], where: Where | None, filename: str) -> int:
    if where is None:
        return -1
    if where[0] not in names:
        header = ", ".join(n for n in names if n)[:120] or "no header"
        raise SimulationError(
            f"Trace {filename!r}: it has no column {where[0]!r}; choose one of its header: {header}."
        )
    return names.index(where[0])


def fits(row: Sequence[str], column: int, where: Where | None) -> bool:
    """Return whether a row has the value that ``where`` names."""
    return where is None or (column < len(row) and row[column].strip() == where[1])


def _is_value(text: str) -> bool:
    if _STAMP.match(text):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def trace_columns(data: bytes, filename: str) -> dict[str, tuple[str, ...]]:
    r"""Return the columns by which a trace can be divided: those with 1 to 50 values, no numbers or times.

    >>> trace_columns(b"time,model\n3,a\n4,b\n6,b\n", "t.csv")
    {'model': ('a', 'b')}
    """
    rows = numbered_rows(data, filename)
    names = [name.strip() for name in next(rows, (0, [""]))[1]]
    values: dict[int, set[str]] = {i: set() for i, name in enumerate(names) if name}
    for _, row in rows:
        for i in list(values):
            cell = row[i].strip() if i < len(row) else ""
            if cell and (_is_value(cell) or (len(values[i]) >= MOST_VALUES and cell not in values[i])):
                del values[i]
            elif cell:
                values[i].add(cell)
        if not values:
            break
    return {names[i]: tuple(sorted(cells)) for i, cells in values.items() if cells}


MINUTE_S = 60.0
_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,12}))?\s*(Z|[+-]\d\d:?\d\d)?", re.ASCII
)


def parse_time(text: str, unit_s: float = 1.0) -> tuple[int, float]:
    """Whole seconds and the fraction, of a number of ``unit_s`` or of a timestamp (UTC if without zone).

    Two parts, because seconds since 1970 with seven decimals do not fit a float.

    >>> parse_time("2023-11-16 18:17:03.9799600")
    (1700158623, 0.97996)
    >>> parse_time("2024-05-12 00:00:00+00:00")[0] - parse_time("2024-05-11T23:00:00-01:00")[0]
    0
    """
    match = _STAMP.fullmatch(text.strip())
    if match is None:
        value = float(text) * unit_s
        if not abs(value) <= MOST_TRACE_S:  # also true for NaN
            raise ValueError("too far away")
        return math.floor(value), value - math.floor(value)
    *whole, fraction, zone = match.groups()
    offset = 0
    if zone and zone != "Z":
        digits = zone.replace(":", "")
        offset = (1 if digits[0] == "+" else -1) * (int(digits[1:3]) * 3600 + int(digits[3:5]) * 60)
    seconds = int(datetime(*map(int, whole), tzinfo=UTC).timestamp()) - offset  # type: ignore[arg-type, misc]
    return seconds, float(f"0.{fraction}") if fraction else 0.0


def _from_stamps(
    rows: Iterator[tuple[int, list[str]]],
    column: int,
    filename: str,
    unit_s: float,
    named: int,
    where: Where | None,
) -> Floats:
    whole, fraction, chosen = array("q"), array("d"), bytearray()
    for line, row in rows:
        chosen.append(fits(row, named, where))
        try:
            seconds, rest = parse_time(row[column], unit_s)
        except (ValueError, IndexError, OverflowError):
            cell = row[column] if column < len(row) else ""
            raise SimulationError(
                f"Trace {filename!r}, line {line}: {cell[:40]!r} is neither a number of seconds nor a "
                "timestamp (or too far from 1970); write 0.25 or 2023-11-16 18:17:03.97996."
            ) from None
        whole.append(seconds)
        fraction.append(rest)
    if not whole:
        raise SimulationError(f"Trace {filename!r}: it has no arrivals; give at least one row.")
    first = min(whole)
    times = (np.asarray(whole) - first).astype(np.float64) + np.asarray(fraction)
    return np.sort((times - times.min())[np.frombuffer(chosen, dtype=np.bool_)])


_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millis", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "usec", "micros", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}
_BESIDE = frozenset(
    {"time", "at", "of", "in", "utc", "unix", "timestamp", "ts", "request", "query", "call", "job"}
)
_INSTANTS = (
    (frozenset({"arrival", "arrivals", "arrived", "arrive"}), _BESIDE),
    (frozenset({"submit", "submitted", "submission"}), _BESIDE),
    (frozenset({"timestamp", "ts"}), _BESIDE),
    (frozenset({"start", "started", "begin", "created", "sent", "received"}), _BESIDE),
    (frozenset({"time", "times", "datetime", "date", "t"}), frozenset({"utc", "unix"})),
)
"""Words of the name of a column of arrivals, the most telling first, and those that may stand beside them.

With any other word it may hold something else: ``response_time``, ``inter_arrival``, ``arrival_rate``.
"""


def time_column(names: Sequence[str], filename: str, clock: Clock = BY_HEADER) -> tuple[int, float]:
    """Find the column of arrivals and the seconds of its unit: those of ``clock``, else by its name.

    >>> time_column(["request_id", "arrival_ms", "timestamp", "response_time"], "t.csv")
    (1, 0.001)
    >>> time_column(["when", "arrival_ms"], "t.csv", ("when", "us"))
    (0, 1e-06)
    """
    column, unit = clock
    if column:
        return _column_of(names, clock, filename), _UNITS[unit or "s"]
    words = [{*re.findall(r"[a-zµ]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", n).lower())} for n in names]
    for telling, beside in _INSTANTS:
        allowed = telling | beside | _UNITS.keys()
        columns = [i for i, own in enumerate(words) if own & telling and own <= allowed]
        units = [_UNITS[word] for i in columns for word in words[i] if word in _UNITS] or [1.0]
        if len(columns) == len(units) == 1:
            return columns[0], _UNITS[unit] if unit else units[0]
        if columns:
            break
    raise SimulationError(
        f"Trace {filename!r}: no single column of arrival times (columns: {', '.join(names)[:120]}); call "
        "one timestamp or arrival_ms, or name it in the scenario (arrivals: time, unit)."
    )


def _column_without_header(row: Sequence[str], filename: str) -> int:
    cells = [i for i, cell in enumerate(row) if cell.strip()]
    stamped = [i for i in cells if _STAMP.fullmatch(row[i].strip())] or cells
    if len(stamped) > 1:
        raise SimulationError(
            f"Trace {filename!r}: it has {len(cells)} columns and no header; add a header, with the arrivals "
            "called 'timestamp' (seconds) or for example arrival_ms."
        )
    return stamped[0]


def read_times(data: bytes, filename: str, *, where: Where | None = None, clock: Clock = BY_HEADER) -> Floats:
    r"""Read a table with a column of times: the one that its name marks, the only one without a header.

    >>> read_times(b"id,time\n7,3\n8,1.5\n", "t.csv").tolist()
    [0.0, 1.5]
    """
    rows = numbered_rows(data, filename)
    first = next(rows, None)
    header = [name.strip() for name in first[1]] if first and _is_header(first[1]) else []
    named = _column_of(header, where, filename)
    column, unit_s = time_column(header, filename, clock) if header else (0, _UNITS[clock[1] or "s"])
    if first and not header:
        column, rows = _column_without_header(first[1], filename), chain([first], rows)
    return _from_stamps(rows, column, filename, unit_s, named, where)


def _is_header(row: Sequence[str]) -> bool:
    """Return whether a row has words, and no cell of it is a number or a time."""
    return any(c.isalpha() for c in "".join(row)) and not any(_is_value(cell.strip()) for cell in row)


def read_azure_functions(data: bytes, filename: str, where: Where | None = None) -> Floats:
    """Return the Azure Functions trace of 2019: minute counts, summed over all rows or of one function.

    ``where``: a column and its value, such as one ``HashFunction``; all functions together without it.
    """
    rows = numbered_rows(data, filename)
    _, header = next(rows, (0, [""]))
    names = [name.strip() for name in header]
    minutes = {i: _minute(n, filename) for i, n in enumerate(names) if n.isascii() and n.isdigit()}
    if not minutes or "HashFunction" not in names:
        raise SimulationError(
            f"Trace {filename!r}: its header has no HashFunction and minutes 1, 2, …; "
            "give an invocations_per_function file."
        )
    place = _column_of(names, where, filename)
    counts = np.zeros(1 + max(minutes.values()), dtype=np.int64)
    for line, row in rows:
        if fits(row, place, where):
            _add_counts(counts, row, minutes, f"Trace {filename!r}, line {line}")
    total = int(counts.sum())
    if not 0 < total <= MOST_ARRIVALS:
        what = "all functions" if where is None else f"the functions with {where[0]} {where[1]!r}"
        raise SimulationError(
            f"Trace {filename!r}: {what} together have {total} arrivals; there must be 1 to {MOST_ARRIVALS}."
        )
    begin = min(1, *minutes.values())  # some copies number the minutes from 0
    return spread_counts(counts[begin:], np.random.default_rng(0))


def _add_counts(counts: Ints, row: list[str], minutes: Mapping[int, int], where: str) -> None:
    for i, minute in minutes.items():
        cell = row[i].strip() if i < len(row) else ""
        if cell and not (cell.isascii() and cell.isdigit() and len(cell) < 10):
            raise SimulationError(
                f"{where}: the count {cell[:40]!r} of minute {minute} must be a whole number of at least 0."
            )
        counts[minute] += int(cell or 0)


def _minute(name: str, filename: str) -> int:
    """Return the minute that a column counts, checked before there is room for so many."""
    if len(name) > 9 or int(name) > MOST_MINUTES:
        raise SimulationError(
            f"Trace {filename!r}: minute {name[:20]} in its header is more than {MOST_MINUTES} (a year); "
            "number the minutes from 0 or 1."
        )
    return int(name)


def spread_counts(counts: Ints, rng: np.random.Generator) -> Floats:
    """Instants of ``counts[m]`` arrivals drawn in minute m, sorted; the first minute begins at 0."""
    starts = np.repeat(np.arange(len(counts), dtype=np.float64), counts)
    return np.sort((starts + rng.random(len(starts))) * MINUTE_S)


def read_trace(data: bytes, filename: str, where: Where | None = None, clock: Clock = BY_HEADER) -> Floats:
    r"""Read a trace in whichever known layout it has.

    Parameters
    ----------
    data : bytes
        Content of the file.
    filename : str
        How errors call the file.
    where : (str, str), optional
        A column and its value: only rows that have it.
    clock : Clock, optional
        The column of arrivals and its unit, where the header does not tell them.

    Returns
    -------
    ndarray of float, shape (n,)
        Arrivals in seconds since the first of the whole trace.

    Raises
    ------
    SimulationError
        If the file is no trace.

    Examples
    --------
    >>> read_trace(b"time,model\n3,a\n4,b\n6,b\n", "t.csv", ("model", "b")).tolist()
    [1.0, 3.0]
    """
    head = data[:4096].decode("utf-8-sig", errors="replace").partition("\n")[0]
    functions = "HashFunction" in (name.strip() for name in head.split(","))
    if functions:
        return read_azure_functions(data, filename, where)
    return read_times(data, filename, where=where, clock=clock)


ReadTrace = Callable[[str, Where | None, Clock], Floats]
"""Gives the instants of the trace of that name (s, sorted), all or those of some rows."""


@dataclass(frozen=True, slots=True)
class TraceWindow:
    """A part of a trace in seconds from its first row."""

    start_s: float
    length_s: float


def recorded_s(times: Floats) -> float:
    """Seconds that a trace covers: to its last arrival, and one mean gap more.

    >>> recorded_s(np.array([0.0, 1.0, 2.0]))
    3.0
    """
    gap = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 0.0
    return float(times[-1] + gap)


def _window_of(spec: ArrivalsSpec, times: Floats) -> TraceWindow:
    """Return the part that a row replays of a trace with these instants."""
    whole = recorded_s(times)
    if not spec.start < whole:
        raise SimulationError(
            f"Trace {spec.trace!r}: start={spec.start:g} s is not within its {whole:.6g} s; start earlier."
        )
    return TraceWindow(spec.start, whole - spec.start if spec.length is None else spec.length)


def row_arrivals(scenario: Scenario, index: int, read: ReadTrace) -> Arrivals:
    """Return the arrival process of a row of the workload.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    index : int
        Row of the workload; those of language models come last.
    read : callable
        Reads a trace.

    Returns
    -------
    Arrivals
        The arrival process of the row.

    Raises
    ------
    SimulationError
        If its trace cannot be read, or no arrival lies in the part that it replays.
    """
    spec = scenario.rows[index].arrivals
    times: Floats = np.zeros(0)
    window, group = TraceWindow(0.0, 0.0), ""
    if spec.trace is not None:
        times = read(spec.trace, None, spec.clock)
        if spec.divided:
            window = _window_of(spec, times)
            group = f"{len(times)} {window.start_s:g} {window.length_s:g}"  # not its name: files are renamed
            times = _within_window(
                _part(scenario, index, read),
                window,
                (*scenario.labels, *scenario.language_labels)[index],
                spec,
            )
        times = times / spec.speed if spec.speed != 1.0 else times
    return Arrivals(
        process=spec.process,
        cv=spec.cv,
        burst_factor=spec.burst_factor,
        burst_fraction=spec.burst_fraction,
        burst_mean_s=spec.burst_mean,
        times_s=tuple(times.tolist()),
        scale_to_rate=spec.scale_to_rate,
        period_s=window.length_s / spec.speed,
        trace=group,
    )


def _part(scenario: Scenario, index: int, read: ReadTrace) -> Floats:
    """Return the instants that are the row's, in the whole trace."""
    rows = scenario.rows
    row, name = rows[index], rows[index].arrivals.trace or ""
    clock = row.arrivals.clock
    if row.arrivals.column is not None:
        return read(name, (row.arrivals.column, row.arrivals.value or row.label), clock)
    times = read(name, None, clock)
    if row.arrivals.share is None:
        return times
    same = [r.arrivals.share or 0.0 for r in rows if r.arrivals.trace == name]
    before = sum(r.arrivals.trace == name for r in rows[:index])
    low = sum(same[:before])
    drawn = RandomStreams(0).generator("shares of a trace").random(len(times))
    return times[(drawn >= low) & (drawn < low + row.arrivals.share)]


def _within_window(times: Floats, window: TraceWindow, label: str, spec: ArrivalsSpec) -> Floats:
    """Return the instants in the window, from its start."""
    inside = times[(times >= window.start_s) & (times < window.start_s + window.length_s)] - window.start_s
    if not len(inside):
        which = f" with {spec.value or label!r} in column {spec.column!r}" if spec.column else ""
        raise SimulationError(
            f"Trace {spec.trace!r}: the row {label!r} replays no arrival{which} from {window.start_s:g} s "
            f"on, {window.length_s:g} s long; choose another part."
        )
    return np.asarray(inside, dtype=np.float64)
