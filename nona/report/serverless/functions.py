"""The functions of a scenario in rows."""

from __future__ import annotations

from typing import NamedTuple

from nona.results.document import number
from nona.serverless.functions import Function
from nona.serverless.system import ServerlessSystem
from nona.tables import SHARE, TIME, Column, Filled, Table


def _confirmed(function: Function) -> str:
    return ", ".join(function.confirmed) or "nothing"


class _Timed(NamedTuple):
    function: Function
    cpu_s: float
    gpu_s: float
    fastest_s: float | None


def function_times(system: ServerlessSystem) -> Filled:
    """Every function of a scenario: its time at the smallest configuration, and with all vGPUs."""
    space, largest = system.space, int(system.space.vgpus.max())
    few = space[space.smallest]
    most = next(
        place
        for place, own in enumerate(space.configurations)
        if (own.batch, own.vcpus, own.vgpus) == (few.batch, few.vcpus, largest)
    )
    columns: tuple[Column[_Timed], ...] = (
        Column("function", lambda r: r.function.name),
        Column("smallest", lambda r: r.cpu_s + r.gpu_s, TIME),
        Column("on the CPU", lambda r: r.cpu_s / (r.cpu_s + r.gpu_s), SHARE),
        Column(f"on {largest} vGPUs", lambda r: r.fastest_s, TIME),
        Column("cold start", lambda r: r.function.cold_start_s, TIME),
        Column("confirmed", lambda r: _confirmed(r.function)),
        Column("source", lambda r: r.function.source),
    )
    return Table("", columns).of(
        _Timed(
            function,
            float(system.cpu_s[k, space.smallest]),
            float(system.gpu_s[k, space.smallest]),
            number(float(system.time_s[k, most])),  # infinite where a file has no time for it
        )
        for k, function in enumerate(system.functions)
    )
