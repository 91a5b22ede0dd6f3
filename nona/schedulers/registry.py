"""The schedulers by name."""

from __future__ import annotations

from nona.errors import SimulationError
from nona.registry import Registry
from nona.schedulers import (
    expert,
    flexflow,
    jsq_d,
    least_loaded,
    least_loaded_d,
    nona_live,
    opportunistic,
    priority,
    random_executor,
    spark,
    sparrow,
    tetris,
)
from nona.schedulers.base import Scheduler
from nona.schedulers.flows import gandiva, gavel, themis, tiresias, whole_workers
from nona.schedulers.learned.decima import DECIMA_BLIND, DECIMA_LINK
from nona.schedulers.sampling import LOCAL, NONA, NONA_D2, SPREAD

_SHIPPED = (
    NONA,
    NONA_D2,
    nona_live.SCHEDULER,
    LOCAL,
    SPREAD,
    random_executor.SCHEDULER,
    opportunistic.SCHEDULER,
    spark.FAIR,
    spark.FIFO,
    priority.SCHEDULER,
    sparrow.SCHEDULER,
    tetris.SCHEDULER,
    jsq_d.SCHEDULER,
    least_loaded.SCHEDULER,
    least_loaded_d.SCHEDULER,
    flexflow.SCHEDULER,
    DECIMA_BLIND,
    DECIMA_LINK,
    gavel.SCHEDULER,
    themis.SCHEDULER,
    tiresias.SCHEDULER,
    gandiva.SCHEDULER,
    whole_workers.OPTIMUS,
    whole_workers.POLLUX,
    expert.SCHEDULER,
)
SCHEDULERS: Registry[Scheduler] = Registry("Scheduler", _SHIPPED, SimulationError)
#: Those that the app lists; all others are folded away as research.
USUAL = ("nona", "nona-live", "local", "spread", "least-loaded", "opportunistic", "spark-fair", "expert")


def scheduler_names() -> tuple[str, ...]:
    """All names, in order of registration.

    >>> "nona" in scheduler_names()
    True
    """
    return tuple(SCHEDULERS)


def get_scheduler(name: str) -> Scheduler:
    """The scheduler called ``name``.

    Raises ``SimulationError`` for an unknown name; the message lists the known ones.
    """
    return SCHEDULERS.find(name)
