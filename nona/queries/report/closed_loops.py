"""Closed loops of a simulation: users, what they send, and Little's law."""

from __future__ import annotations

from dataclasses import dataclass

from nona.core.tables import COUNT, TIME, Column, FilledTable, NumberKind, Table
from nona.core.units import format_number
from nona.queries.results import ClosedLoop, Schedulers

NUMBER = NumberKind(format_number)


@dataclass(frozen=True, slots=True)
class _Row:
    scheduler: str
    model: str
    loop: ClosedLoop
    mean_s: float | None

    @property
    def users_found(self) -> float | None:
        """X·(R + think): the users that throughput and times tell of."""
        rate = self.loop.per_s.mean
        return None if rate is None or self.mean_s is None else rate * (self.mean_s + self.loop.think_s)


LOOPS = Table[_Row](
    "",
    (
        Column("scheduler", lambda r: r.scheduler, decides=True),
        Column("model", lambda r: r.model, decides=True),
        Column("users", lambda r: r.loop.users, COUNT, decides=True),
        Column("pause", lambda r: r.loop.think_s, TIME),
        Column("queries per second", lambda r: r.loop.per_s.mean, NUMBER, decides=True),
        Column("mean JCT", lambda r: r.mean_s, TIME, decides=True),
        Column("one user alone", lambda r: r.loop.alone_s, TIME, decides=True),
        Column("rate × (JCT + pause)", lambda r: r.users_found, NUMBER),
    ),
)
LITTLE = (
    "Users send again when their query is done, so they cannot overload the cluster. By Little's law the "
    "rate times (mean JCT + pause) is the number of users."
)


def loop_rows(schedulers: Schedulers) -> FilledTable:
    """Return each scheduler's closed loops by model; none where all rows have a rate."""
    return LOOPS.fill(
        [
            _Row(name, model, found.loop, found.jct_s)
            for name, s in schedulers.items()
            for model, found in s.models.items()
            if found.loop is not None
        ]
    )
