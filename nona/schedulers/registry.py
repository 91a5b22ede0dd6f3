"""The schedulers by name."""

from __future__ import annotations

from nona.errors import SimulationError
from nona.registry import Registry
from nona.schedulers.base import Scheduler
from nona.schedulers.flows import gandiva, gavel, optimus, pollux, themis, tiresias
from nona.schedulers.learned import decima_blind, decima_link
from nona.schedulers.live import scheduler as nona_live
from nona.schedulers.offline import flexflow
from nona.schedulers.picking import opportunistic, priority, spark_fair, spark_fifo, sparrow, tetris
from nona.schedulers.queues import jsq_d, least_loaded, least_loaded_d, random_executor
from nona.schedulers.sampling import expert, local, nona_d2, nona_stochastic, spread

_MODULES = (
    nona_stochastic,
    nona_d2,
    nona_live,
    local,
    spread,
    random_executor,
    opportunistic,
    spark_fair,
    spark_fifo,
    priority,
    sparrow,
    tetris,
    jsq_d,
    least_loaded,
    least_loaded_d,
    flexflow,
    decima_blind,
    decima_link,
    gavel,
    themis,
    tiresias,
    gandiva,
    optimus,
    pollux,
    expert,
)
SCHEDULERS: Registry[Scheduler] = Registry("Scheduler", (m.SCHEDULER for m in _MODULES), SimulationError)


def scheduler_names() -> tuple[str, ...]:
    """All names, in order of registration.

    >>> "nona" in scheduler_names()
    True
    """
    return tuple(SCHEDULERS)


def get_scheduler(name: str) -> Scheduler:
    """The scheduler called ``name``.

    Raises
    ------
    SimulationError
        For an unknown name; the message lists the known ones.
    """
    return SCHEDULERS.find(name)
