"""Figures of a simulation that is running: what live charts draw."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from nona.results.document import Document
from nona.results.simulation.series import ResourceLoad


class LiveLine(Document):
    """One scheduler so far.

    ``jct_s`` over ``t`` (seconds since its first measured job) is that of the first replication;
    ``counts`` are completion times by bin from number ``first`` on, see
    :func:`nona.report.simulations.live.series.bin_edge_s`. ``busy`` are executors and busiest link.
    """

    t: tuple[float, ...]
    jct_s: tuple[float, ...]
    first: int
    counts: tuple[int, ...]
    jobs: int
    mean_s: float
    hit_rate: float | None
    busy: tuple[float, float] | None


LiveLines = Mapping[str, LiveLine]


class LiveRun(Document):
    """A simulation so far.

    ``slo`` has label and seconds of each class with one; ``schedulers`` their order; ``jobs`` are done
    ``of`` all (``None`` where that depends on a precision); ``now`` is who runs; ``loads`` are the
    utilisations so far of each scheduler's executors and links.
    """

    slo: tuple[tuple[str, float], ...] = ()
    schedulers: tuple[str, ...] = ()
    of: int | None = None
    series: LiveLines = Field(default_factory=dict)
    jobs: int = 0
    now: str = ""
    loads: Mapping[str, ResourceLoad] = Field(default_factory=dict)
