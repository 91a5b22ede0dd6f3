"""Files of measured times by batch, vCPUs and part of a GPU, and times between them.

* Ours, CSV with a header: ``batch, ms``; optional ``vcpus``, ``vgpus`` or ``gpu_percent``, ``percentile``,
  ``model``. An empty cell, or no column: the time holds for any number.
* ParvaGPU's, CSV: ``Mig instance, Batch size, Workload Number, Throughput, Latency``. Rows of one process are
  taken; 0 is out of memory. Source: MunQ-Lee/ParvaGPU_SC24, ``prof_data`` (Lee et al., SC 2024).
* INFless', words with spaces: model, CPU threads, per cent of the GPU, batch, ms. 9,999 ms or more did not
  finish. Source: TankLabTJU/INFless, ``profiler`` (Yang et al., ASPLOS 2022).

Where a configuration was measured, its time is the measured one. Between measured sizes the logarithm of the
time is linear in the logarithm of the size, first over batches, then over vGPUs, then over vCPUs. Outside
of what was measured there is no time: the configuration cannot be chosen.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nona.cluster.sharing.pool import BatchConfiguration
from nona.core.errors import CostError
from nona.core.foreign import CsvFile
from nona.serverless.functions import ConfigurationSpace, TableTimes

MOST_ROWS = 100_000
MOST_SIZE = 4096
MOST_MS = 1e9
UNFINISHED_MS = 9999.0
MEDIAN = 50.0
_PARVAGPU = ("mig instance", "batch size", "workload number", "throughput", "latency")
_REQUIRED = ("batch", "ms")
_OPTIONAL = ("vcpus", "vgpus", "gpu_percent", "percentile", "model")


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """Seconds of a batch; ``None``: the time holds for any number.

    ``gpu_share`` is a part of the whole GPU, ``vgpus`` a number of slices; a row has at most one of the two.
    """

    batch: int
    seconds: float
    vcpus: int | None = None
    vgpus: int | None = None
    gpu_share: float | None = None
    percentile: float = MEDIAN
    model: str = ""


def read_profile(data: bytes, what: str = "Profile") -> tuple[ProfileRow, ...]:
    r"""Return the rows of a file, whichever of the three layouts it has; ``what`` is how errors call it.

    Raises ``CostError`` for another layout, a cell that is not its column's, or two rows for the same.

    >>> read_profile(b"batch,vgpus,ms\n4,2,10\n")[0].seconds
    0.01
    >>> read_profile(b"resnet-50 2 20 4 92.75\nresnet-50 2 20 8 23046\n")[0].gpu_share
    0.2
    """
    lines = _lines(data, what)
    first = next(lines, None)
    if first is None:
        raise CostError(f"{what}: it is empty; give a header batch,ms and rows.")
    names = [cell.strip().lower() for cell in first[1]]
    if names == list(_PARVAGPU):
        rows = _read(lines, what, _parvagpu)
    elif len(names) == 1 and len(names[0].split()) == 5:
        rows = _read(_with_first(first, lines), what, _infless)
    else:
        header = _header(names, what)
        rows = _read(lines, what, lambda cells, where: _profile_row(header, cells, where))
    if not rows:
        raise CostError(f"{what}: it has no time of a batch that finished; give at least one row.")
    return rows


def rows_of(rows: tuple[ProfileRow, ...], name: str, what: str = "Profile") -> tuple[ProfileRow, ...]:
    """Return the rows of one model, at one percentile: the one nearest to the median.

    Raises ``CostError`` when the file has several models, and none is called ``name``.
    """
    models = sorted({row.model for row in rows})
    if len(models) > 1 and name not in models:
        raise CostError(
            f"{what}: it has {len(models)} models ({', '.join(models)[:120]}), none called {name!r}; keep "
            "one, or name the function after it."
        )
    own = [row for row in rows if len(models) == 1 or row.model == name]
    nearest = min({row.percentile for row in own}, key=lambda p: (abs(p - MEDIAN), p))
    return tuple(row for row in own if row.percentile == nearest)


NumberedLine = tuple[int, list[str]]


def _lines(data: bytes, what: str) -> Iterator[NumberedLine]:
    for line, cells in CsvFile(data, what, CostError, most_rows=MOST_ROWS, strict=True).numbered_rows():
        if not cells[0].lstrip().startswith("#"):
            yield line, cells


def _with_first(first: NumberedLine, rest: Iterator[NumberedLine]) -> Iterator[NumberedLine]:
    yield first
    yield from rest


def _read(
    lines: Iterator[NumberedLine], what: str, read: Callable[[list[str], str], ProfileRow | None]
) -> tuple[ProfileRow, ...]:
    by_key: dict[tuple[object, ...], ProfileRow] = {}
    for line, cells in lines:
        where = f"{what}, line {line}"
        row = read([cell.strip() for cell in cells], where)
        if row is None:
            continue
        key = (row.model, row.batch, row.vcpus, row.vgpus, row.gpu_share, row.percentile)
        if key in by_key:
            raise CostError(f"{where}: there is a time for the same batch and resources already; keep one.")
        by_key[key] = row
    return tuple(by_key.values())


def _header(names: list[str], what: str) -> list[str]:
    for name in _REQUIRED:
        if name not in names:
            raise CostError(
                f"{what}: the column {name!r} is missing; the header needs {', '.join(_REQUIRED)}, and "
                f"may have {', '.join(_OPTIONAL)}."
            )
    for name in names:
        if name not in (*_REQUIRED, *_OPTIONAL):
            raise CostError(
                f"{what}: column {name[:60]!r} is unknown; use {', '.join(_REQUIRED + _OPTIONAL)}."
            )
        if names.count(name) > 1:
            raise CostError(f"{what}: the column {name!r} appears twice; keep one.")
    if "vgpus" in names and "gpu_percent" in names:
        raise CostError(f"{what}: it has both vgpus and gpu_percent; keep one of the two.")
    return names


def _profile_row(header: list[str], cells: list[str], where: str) -> ProfileRow:
    """Return a row of a CSV file with a header of our own columns."""
    if len(cells) != len(header):
        raise CostError(f"{where}: {len(cells)} cells where the header has {len(header)}; correct the row.")
    values = {name: cell for name, cell in zip(header, cells, strict=True) if cell}
    for name in _REQUIRED:
        if name not in values:
            raise CostError(f"{where}: {name} is empty; fill it in.")
    percent = values.get("gpu_percent")
    model = values.get("model", "")
    if not model.isprintable() or len(model) > 200:
        raise CostError(f"{where}: model={model[:60]!r} must be a name of at most 200 characters.")
    return ProfileRow(
        _size(values["batch"], "batch", where),
        _number(values["ms"], "ms", where, 0.0, MOST_MS) / 1e3,
        _size(values["vcpus"], "vcpus", where) if "vcpus" in values else None,
        _size(values["vgpus"], "vgpus", where) if "vgpus" in values else None,
        None if percent is None else _number(percent, "gpu_percent", where, 0.0, 100.0) / 100,
        _number(values.get("percentile", "50"), "percentile", where, 0.0, 100.0),
        model,
    )


def _parvagpu(cells: list[str], where: str) -> ProfileRow | None:
    _five(cells, where)
    vgpus, batch, processes = (_size(c, name, where) for c, name in zip(cells, _PARVAGPU[:3], strict=False))
    rate = _number(cells[3], "throughput", where, -1.0, 1e9)
    latency_s = _number(cells[4], "latency", where, -1.0, 1e6)
    if processes > 1 or latency_s <= 0 or rate <= 0:
        return None
    return ProfileRow(batch, batch / rate, vgpus=vgpus)


def _infless(cells: list[str], where: str) -> ProfileRow | None:
    words = " ".join(cells).split()
    _five(words, where)
    model, threads, percent, batch, ms = words
    if not model.isprintable() or len(model) > 200:
        raise CostError(f"{where}: {model[:60]!r} must be a name of at most 200 characters.")
    taken_ms = _number(ms, "ms", where, 0.0, MOST_MS)
    share = _number(percent, "GPU per cent", where, -1.0, 100.0) / 100
    row = ProfileRow(
        _size(batch, "batch", where),
        taken_ms / 1e3,
        _size(threads, "CPU threads", where),
        gpu_share=share,
        model=model,
    )
    return row if taken_ms < UNFINISHED_MS and share > 0 else None


def _five(cells: list[str], where: str) -> None:
    if len(cells) != 5:
        raise CostError(f"{where}: {len(cells)} values where five are expected; correct the row.")


def _size(text: str, name: str, where: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= MOST_SIZE):
        raise CostError(f"{where}: {name}={text[:60]!r} must be a whole number from 1 to {MOST_SIZE}.")
    return int(text)


def _number(text: str, name: str, where: str, above: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (above < value <= most and text.isascii()):
        raise CostError(f"{where}: {name}={text[:60]!r} must be a number above {above:g}, at most {most:g}.")
    return value


Curve = Mapping[float, float]
"""Size → seconds; the size 0 holds for any."""


def profile_times(rows: Sequence[ProfileRow], space: ConfigurationSpace, parts: int = 7) -> TableTimes:
    """Return the times of configurations of ``space`` by ``rows``, on a GPU of ``parts`` vGPUs.

    >>> from nona.serverless.functions import grid
    >>> rows = (ProfileRow(1, 0.010, vgpus=1), ProfileRow(4, 0.040, vgpus=1))
    >>> times = profile_times(rows, grid([1, 2, 8], [1, 2], [1, 2]))
    >>> {c.text: round(s, 6) for c, s in times.rows.items()}
    {'1 job, 1 vCPU, 1 vGPU': 0.01, '1 job, 2 vCPUs, 1 vGPU': 0.01, '2 jobs, 1 vCPU, 1 vGPU': 0.02, \
'2 jobs, 2 vCPUs, 1 vGPU': 0.02}
    """
    nested: dict[float, dict[float, dict[float, float]]] = {}
    for row in rows:
        vgpus = row.vgpus if row.vgpus is not None else parts * (row.gpu_share or 0.0)
        nested.setdefault(row.vcpus or 0.0, {}).setdefault(vgpus, {})[row.batch] = row.seconds
    times = {c: _time(nested, c) for c in space.configurations}
    return TableTimes({c: seconds for c, seconds in times.items() if seconds < math.inf})


def _time(nested: Mapping[float, Mapping[float, Curve]], c: BatchConfiguration) -> float:
    by_vcpus = {}
    for vcpus, by_size in nested.items():
        by_vgpus = {vgpus: interpolated(curve, c.batch) for vgpus, curve in by_size.items()}
        by_vcpus[vcpus] = interpolated(by_vgpus, c.vgpus)
    return interpolated(by_vcpus, c.vcpus)


def interpolated(curve: Curve, size: float) -> float:
    """Seconds at ``size``; infinite where it lies outside, or a neighbour has no time.

    >>> round(interpolated({1: 1.0, 4: 2.0}, 2), 6), interpolated({1: 1.0}, 2), interpolated({0: 3.0}, 2)
    (1.414214, inf, 3.0)
    """
    finite = {x: s for x, s in curve.items() if s < math.inf}
    if size in finite:
        return finite[size]
    if 0.0 in finite:
        return finite[0.0]
    sizes = sorted(finite)
    place = bisect_left(sizes, size)
    if not 0 < place < len(sizes):
        return math.inf
    low, high = sizes[place - 1], sizes[place]
    share = math.log(size / low) / math.log(high / low)
    return math.exp((1 - share) * math.log(finite[low]) + share * math.log(finite[high]))
