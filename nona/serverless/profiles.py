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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.cluster.sharing.pool import BatchConfiguration
from nona.core.errors import ScenarioError
from nona.core.rows import TableRow, TextTable
from nona.serverless.functions import ConfigurationSpace, TableTimes

MOST_ROWS = 100_000
MOST_SIZE = 4096
MOST_MS = 1e9
UNFINISHED_MS = 9999.0
MEDIAN = 50.0
_PARVAGPU: tuple[str, ...] = ("mig instance", "batch size", "workload number", "throughput", "latency")
_INFLESS: tuple[str, ...] = ("model", "cpu threads", "gpu per cent", "batch", "ms")
_REQUIRED: tuple[str, ...] = ("batch", "ms")
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

    Raises ``ScenarioError`` for another layout, a cell that is not its column's, or two rows for the same.

    >>> read_profile(b"batch,vgpus,ms\n4,2,10\n")[0].seconds
    0.01
    >>> read_profile(b"resnet-50 2 20 4 92.75\nresnet-50 2 20 8 23046\n")[0].gpu_share
    0.2
    """
    table = TextTable(data, what, MOST_ROWS)
    if not table.header:
        raise ScenarioError([f"{what}: it is empty; give a header batch,ms and rows."])
    table.header = [name.lower() for name in table.header]
    if table.header == list(_PARVAGPU):
        required, read = _PARVAGPU, _parvagpu
    elif len(table.header) == 1 and len(table.header[0].split()) == 5:
        table.as_words(_INFLESS)
        required, read = _INFLESS, _infless
    else:
        if {"vgpus", "gpu_percent"} <= {*table.header}:
            raise ScenarioError([f"{what}: it has both vgpus and gpu_percent; keep one of the two."])
        required, read = _REQUIRED, _own
    optional = _OPTIONAL if required == _REQUIRED else ()
    nothing = "it has no time of a batch that finished; give at least one row."
    return tuple(table.read(required, optional, lambda line: _checked(line, read(line)), nothing))


def _checked(line: TableRow, row: ProfileRow | None) -> ProfileRow | None:
    """Return the row where it has no problem, and none before had the same batch and resources."""
    if row is None:
        return None
    about = (
        *(row.model, f"batch {row.batch}", f"percentile {row.percentile!r}"),
        *(row.vcpus and f"{row.vcpus} vCPUs", row.vgpus and f"{row.vgpus} vGPUs"),
        row.gpu_share and f"{row.gpu_share!r} of the GPU",
    )
    return row if line.is_first(*about) else None


def rows_of(rows: tuple[ProfileRow, ...], name: str, what: str = "Profile") -> tuple[ProfileRow, ...]:
    """Return the rows of one model, at one percentile: the one nearest to the median.

    Raises ``ScenarioError`` when the file has several models, and none is called ``name``.
    """
    models = sorted({row.model for row in rows})
    if len(models) > 1 and name not in models:
        raise ScenarioError(
            [
                f"{what}: it has {len(models)} models ({', '.join(models)[:120]}), none called {name!r}; "
                "keep one, or name the function after it."
            ]
        )
    own = [row for row in rows if len(models) == 1 or row.model == name]
    nearest = min({row.percentile for row in own}, key=lambda p: (abs(p - MEDIAN), p))
    return tuple(row for row in own if row.percentile == nearest)


def _own(line: TableRow) -> ProfileRow:
    return ProfileRow(
        line.whole("batch", MOST_SIZE),
        line.above("ms", 0.0, MOST_MS) / 1e3,
        line.whole("vcpus", MOST_SIZE) if line.cell("vcpus") else None,
        line.whole("vgpus", MOST_SIZE) if line.cell("vgpus") else None,
        line.above("gpu_percent", 0.0, 100.0) / 100 if line.cell("gpu_percent") else None,
        line.above("percentile", 0.0, 100.0) if line.cell("percentile") else MEDIAN,
        line.name("model") if line.cell("model") else "",
    )


def _parvagpu(line: TableRow) -> ProfileRow | None:
    vgpus, batch, processes = (line.whole(key, MOST_SIZE) for key in _PARVAGPU[:3])
    rate, latency_s = line.above("throughput", -1.0, 1e9), line.above("latency", -1.0, 1e6)
    if processes > 1 or latency_s <= 0 or rate <= 0:
        return None
    return ProfileRow(batch, batch / rate, vgpus=vgpus)


def _infless(line: TableRow) -> ProfileRow | None:
    model, threads, percent, batch, ms = _INFLESS
    taken_ms, share = line.above(ms, 0.0, MOST_MS), line.above(percent, -1.0, 100.0) / 100
    row = ProfileRow(
        line.whole(batch, MOST_SIZE),
        taken_ms / 1e3,
        line.whole(threads, MOST_SIZE),
        gpu_share=share,
        model=line.name(model),
    )
    return row if taken_ms < UNFINISHED_MS and share > 0 else None


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
