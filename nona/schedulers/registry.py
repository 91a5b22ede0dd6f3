"""The schedulers by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nona.errors import SimulationError
from nona.registry import Registry
from nona.scenario.language import ROUTERS
from nona.schedulers.base import Scheduler
from nona.sources.unknown import mapping, unknown_strategies

SCHEDULERS: Registry[Scheduler] = Registry(
    "Scheduler",
    {
        "nona": "nona.schedulers.sampling:NONA",
        "nona-d2": "nona.schedulers.sampling:NONA_D2",
        "nona-live": "nona.schedulers.nona_live:SCHEDULER",
        "local": "nona.schedulers.sampling:LOCAL",
        "spread": "nona.schedulers.sampling:SPREAD",
        "random": "nona.schedulers.random_executor:SCHEDULER",
        "opportunistic": "nona.schedulers.opportunistic:SCHEDULER",
        "spark-fair": "nona.schedulers.spark:FAIR",
        "spark-fifo": "nona.schedulers.spark:FIFO",
        "priority": "nona.schedulers.priority:SCHEDULER",
        "sparrow": "nona.schedulers.sparrow:SCHEDULER",
        "tetris": "nona.schedulers.tetris:SCHEDULER",
        "jsq-d": "nona.schedulers.jsq_d:SCHEDULER",
        "least-loaded": "nona.schedulers.least_loaded:SCHEDULER",
        "least-loaded-d": "nona.schedulers.least_loaded_d:SCHEDULER",
        "flexflow": "nona.schedulers.flexflow:SCHEDULER",
        "decima-blind": "nona.schedulers.learned.decima:DECIMA_BLIND",
        "decima-link": "nona.schedulers.learned.decima:DECIMA_LINK",
        "gavel": "nona.schedulers.flows.gavel:SCHEDULER",
        "themis": "nona.schedulers.flows.themis:SCHEDULER",
        "tiresias": "nona.schedulers.flows.tiresias:SCHEDULER",
        "gandiva": "nona.schedulers.flows.gandiva:SCHEDULER",
        "optimus": "nona.schedulers.flows.whole_workers:OPTIMUS",
        "pollux": "nona.schedulers.flows.whole_workers:POLLUX",
        "expert": "nona.schedulers.expert:SCHEDULER",
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
    """The scheduler called ``name``.

    Raises ``SimulationError`` for an unknown name; the message lists the known ones.
    """
    return SCHEDULERS.find(name)


def unknown_schedulers(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each scheduler of a scenario's data that is not known; routers are others."""
    for place, named in (
        ("schedulers", data.get("schedulers")),
        ("plan.schedulers", mapping(data.get("plan")).get("schedulers")),
    ):
        yield from unknown_strategies(place, named, get_scheduler, ROUTERS)
