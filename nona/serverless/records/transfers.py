"""What a run records of transfers that share the cluster's network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.simulation.records.run import Check
from nona.simulation.statistics.intervals import Interval, mean_interval

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LinkTransfers:
    """L links until the end of a run, background included, and the transfers of its m batches.

    Attributes
    ----------
    links
        L names.
    busy_s, work_s
        (L,) Length of the periods in which a link was busy, and the seconds of service that it did.
    alone_s
        (m,) Seconds that a batch's transfer takes when nothing else is on its way; ``nan`` where nothing
        came over the network.
    known
        (m,) Whether the end of the transfer was known when the run stopped. Of another batch the times are
        those of a transfer that is alone.
    """

    links: tuple[str, ...]
    busy_s: Floats
    work_s: Floats
    alone_s: Floats
    known: Bools


@dataclass(frozen=True, slots=True)
class TransferSummary:
    """Of one policy's transfers over the network.

    ``mean_s``: seconds of a transfer; ``wait_s``: how much of that it would not take alone; both over the
    batches of the window that fetched over the network. ``utilization``: L shares, background included.
    """

    links: tuple[str, ...]
    mean_s: Interval
    wait_s: Interval
    utilization: tuple[float, ...]


def summarise_transfers(
    used: Sequence[LinkTransfers], transfer_s: Sequence[Floats], inside: Sequence[Bools], until_s: Floats
) -> TransferSummary:
    """The summary of the replications of a policy.

    ``transfer_s``, ``inside``: of each run's batches, the seconds, and whether they lie in the window;
    ``until_s`` (R,): when each run stopped.
    """
    means, waits = [], []
    for run, seconds, window in zip(used, transfer_s, inside, strict=True):
        which = window & run.known & ~np.isnan(run.alone_s)
        means.append(float(seconds[which].mean()) if which.any() else np.nan)
        waits.append(float((seconds - run.alone_s)[which].mean()) if which.any() else np.nan)
    shares = np.mean([run.busy_s / end for run, end in zip(used, until_s.tolist(), strict=True)], axis=0)
    return TransferSummary(used[0].links, mean_interval(means), mean_interval(waits), tuple(shares.tolist()))


def check_transfers(used: LinkTransfers, transfer_s: Floats) -> Check:
    """Links work whenever they have work, and no transfer is faster than alone."""
    idle_s = np.abs(used.busy_s - used.work_s)
    early_s = np.nan_to_num(used.alone_s - transfer_s)
    ok = bool((idle_s <= 1e-9 * (1 + used.busy_s)).all() and (early_s <= 1e-9).all())
    busiest = int(used.busy_s.argmax())
    return Check(
        "links", ok, f"{used.links[busiest]} busy for {used.busy_s[busiest]:.6g} s, none idle with work"
    )
