"""The schedulers by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nona.core.errors import SimulationError
from nona.core.registry import Registry
from nona.queries.schedulers.base import Scheduler
from nona.scenario.gate import mapping
from nona.scenario.language import ROUTERS
from nona.scenario.unknown import unknown_strategies

SCHEDULERS: Registry[Scheduler] = Registry(
    "Scheduler",
    {
        "nona": "nona.queries.schedulers.sampling:NONA",
        "nona-d2": "nona.queries.schedulers.sampling:NONA_D2",
        "nona-live": "nona.queries.schedulers.nona_live:SCHEDULER",
        "local": "nona.queries.schedulers.sampling:LOCAL",
        "spread": "nona.queries.schedulers.sampling:SPREAD",
        "random": "nona.queries.schedulers.random_executor:SCHEDULER",
        "opportunistic": "nona.queries.schedulers.opportunistic:SCHEDULER",
        "spark-fair": "nona.queries.schedulers.spark:FAIR",
        "spark-fifo": "nona.queries.schedulers.spark:FIFO",
        "priority": "nona.queries.schedulers.priority:SCHEDULER",
        "sparrow": "nona.queries.schedulers.sparrow:SCHEDULER",
        "tetris": "nona.queries.schedulers.tetris:SCHEDULER",
        "jsq-d": "nona.queries.schedulers.jsq_d:SCHEDULER",
        "least-loaded": "nona.queries.schedulers.least_loaded:SCHEDULER",
        "least-loaded-d": "nona.queries.schedulers.least_loaded_d:SCHEDULER",
        "flexflow": "nona.queries.schedulers.flexflow:SCHEDULER",
        "decima-blind": "nona.queries.schedulers.learned.decima:DECIMA_BLIND",
        "decima-link": "nona.queries.schedulers.learned.decima:DECIMA_LINK",
        "gavel": "nona.queries.schedulers.flows.gavel:SCHEDULER",
        "themis": "nona.queries.schedulers.flows.themis:SCHEDULER",
        "tiresias": "nona.queries.schedulers.flows.tiresias:SCHEDULER",
        "gandiva": "nona.queries.schedulers.flows.gandiva:SCHEDULER",
        "optimus": "nona.queries.schedulers.flows.whole_workers:OPTIMUS",
        "pollux": "nona.queries.schedulers.flows.whole_workers:POLLUX",
        "expert": "nona.queries.schedulers.expert:SCHEDULER",
    },
    SimulationError,
)
#: Those that the app lists; all others are folded away as research.
USUAL = ("nona", "nona-live", "local", "spread", "least-loaded", "opportunistic", "spark-fair", "expert")


def scheduler_names() -> tuple[str, ...]:
    """All names, in order of registration.

    >>> "nona" in scheduler_names()
    True
    """
    return tuple(SCHEDULERS)


def get_scheduler(name: str) -> Scheduler:
    """Return the scheduler called ``name``.

    Parameters
    ----------
    name : str
        A name of :data:`SCHEDULERS`.

    Returns
    -------
    Scheduler
        The scheduler with that name.

    Raises
    ------
    SimulationError
        If the name is unknown; the message lists the known ones.
    """
    return SCHEDULERS.find(name)


def unknown_schedulers(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each scheduler of a scenario's data that is not known; routers are others."""
    for place, named in (
        ("schedulers", data.get("schedulers")),
        ("plan.schedulers", mapping(data.get("plan")).get("schedulers")),
    ):
        yield from unknown_strategies(place, named, get_scheduler, ROUTERS)
