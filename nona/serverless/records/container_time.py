"""Where the time of containers went, and what their waiting cost, from the records of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.containers import (
    ContainerLives,
    ContainerPieces,
    busy_pieces,
    idle_pieces,
    starting_pieces,
)
from nona.serverless.records.intervals_held import overlap_s
from nona.serverless.records.run import ServerlessRecords


@dataclass(frozen=True, slots=True)
class ContainerTime:
    """In the window of one run: seconds of all containers by what they did, and US dollars of waiting.

    ``starting_s``: cold starts of batches and starts ahead; ``busy_s``: batches without their cold starts;
    where instances stand it is they that are meant, with a batch or without.
    """

    busy_s: float
    idle_s: float
    starting_s: float
    idle_usd: float

    @property
    def life_s(self) -> float:
        """All three together."""
        return self.busy_s + self.idle_s + self.starting_s


def pieces_of(
    records: ServerlessRecords, lives: ContainerLives
) -> tuple[ContainerPieces, ContainerPieces, ContainerPieces]:
    """Starts ahead of a batch, batches (or instances that stood), and waits."""
    of, standing, stopped_s = records.batches, records.instances, records.stopped_s
    if standing is None:
        busy = busy_pieces(lives.of_batch, of.dispatched_s, of.ended_s, stopped_s)
    else:
        busy = busy_pieces(standing.container, standing.started_s, standing.ended_s, stopped_s)
    return starting_pieces(lives, busy, stopped_s), busy, idle_pieces(lives, stopped_s)


def container_time(
    system: ServerlessSystem, records: ServerlessRecords, lives: ContainerLives
) -> ContainerTime:
    """What containers did in the window of a run.

    Waiting costs Σ over waits of (time in the window · price of the configuration that the container had
    last) · the share ``idle_cost``.
    """
    start_s, end_s = records.sums.start_s, records.sums.end_s
    ahead, busy, idle = pieces_of(records, lives)
    ahead_s, busy_s, idle_s = (overlap_s(p.from_s, p.until_s, start_s, end_s) for p in (ahead, busy, idle))
    of, standing = records.batches, records.instances
    whole_s = np.array([f.cold_start_s for f in system.functions])[lives.function[busy.container]]
    if standing is None:
        cold_s, begin_s = whole_s * of.cold, of.dispatched_s + of.setup_s
    else:
        cold_s = whole_s * standing.cold
        begin_s = standing.ready_s - cold_s
    until_s = np.minimum(begin_s + cold_s, busy.until_s)
    starts_s = float(overlap_s(begin_s, until_s, start_s, end_s).sum())
    return ContainerTime(
        busy_s=float(busy_s.sum()) - starts_s,
        idle_s=float(idle_s.sum()),
        starting_s=float(ahead_s.sum()) + starts_s,
        idle_usd=system.idle_cost * float(idle_s @ system.price_per_s[lives.idle_configuration]),
    )
