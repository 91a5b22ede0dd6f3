"""The kinds of jobs: what each is called, what its result depends on, and which function does it.

Everything that tells jobs apart reads this one list: the server that starts them, the worker that does
them, the session that says whether a result is stale, the side bar that shows what runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nona.errors import JobError

_PLACEMENT = ("cluster", "background", "workload", "cost", "contraction", "objective", "models")
SIMULATION_PARTS = (*_PLACEMENT, "simulation", "schedulers", "seed")
_SERVERLESS = ("cluster", "workload", "models", "simulation", "seed", "serverless")
_MODEL = ("cluster", "cost", "contraction", "models")


@dataclass(frozen=True, slots=True)
class TaskKind:
    """One kind of job.

    Attributes
    ----------
    name
        What a job and its result are filed under.
    noun
        What people call it, as in "Cancel the …".
    parts
        Top-level parts of the scenario that its result depends on: the name of a scenario changes no
        placement, for example. Empty: the result depends on no scenario.
    run
        The function that does it, as ``module:function``, called with the job's description and a
        :class:`~nona.ui.jobs.desk.Desk`. As text, so that only a worker imports it.
    """

    name: str
    noun: str
    parts: tuple[str, ...]
    run: str


def _all_kinds() -> Mapping[str, TaskKind]:
    tasks, platform = "nona.ui.tasks", "nona.ui.tasks.serverless"
    kinds = (
        TaskKind("place", "placement", _PLACEMENT, f"{tasks}.place:place_scenario"),
        TaskKind("capacity", "search for servers", SIMULATION_PARTS, f"{tasks}.capacity:find_capacity"),
        TaskKind("congestion", "prediction", _PLACEMENT, f"{tasks}.place:predict_congestion"),
        TaskKind("simulate", "simulation", SIMULATION_PARTS, f"{tasks}.simulate:simulate_scenario"),
        TaskKind("sweep", "sweep", SIMULATION_PARTS, f"{tasks}.sweep:sweep_scenario"),
        TaskKind("answer", "quick answer", SIMULATION_PARTS, f"{tasks}.answer:answer"),
        TaskKind("count", "count of configurations", _MODEL, f"{tasks}.count:count_configurations"),
        TaskKind("validate", "validation", (), f"{tasks}.theory:simulate_known"),
        TaskKind("check", "self-check", (), f"{tasks}.check:check_self"),
        TaskKind("story", "example", (), f"{tasks}.story:tell_story"),
        TaskKind("serverless", "serverless run", _SERVERLESS, f"{platform}:run_serverless"),
        TaskKind("serverless-sharing", "comparison of sharing", _SERVERLESS, f"{platform}:compare_ways"),
        TaskKind("serverless-nodes", "search for nodes", _SERVERLESS, f"{platform}:find_nodes"),
        TaskKind(
            "serverless-schedulers",
            "run of schedulers",
            (*_SERVERLESS, "schedulers"),
            f"{platform}:run_schedulers",
        ),
    )
    return MappingProxyType({kind.name: kind for kind in kinds})


KINDS: Mapping[str, TaskKind] = _all_kinds()


def kind_named(name: str) -> TaskKind:
    """The kind of that name.

    Raises
    ------
    JobError
        When there is none.

    >>> kind_named("place").noun
    'placement'
    """
    if name not in KINDS:
        raise JobError(f"Job {name!r}: it must be one of {', '.join(KINDS)}; choose one of these.")
    return KINDS[name]
