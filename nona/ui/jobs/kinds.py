"""The kinds of job by name: what each is called, what it depends on, and the task that a worker runs.

A task is named by its module and function, so that the server need not import what only workers run.
"""

from __future__ import annotations

from dataclasses import dataclass

from nona.errors import JobError
from nona.registry import Registry

# What a result depends on: the name or the seed of a scenario changes no placement, for example.
PLACEMENT_PARTS = ("cluster", "background", "workload", "cost", "contraction", "objective", "models")
SIMULATION_PARTS = (*PLACEMENT_PARTS, "simulation", "schedulers", "seed")
SERVERLESS_PARTS = ("cluster", "workload", "models", "simulation", "seed", "serverless")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job.

    Attributes
    ----------
    name
        What pages ask for.
    task
        Where its function is: ``module:function``.
    noun
        What the side bar calls it while it runs; without one it is not named there.
    parts
        Parts of the scenario that its result depends on; none: all of them.
    alone
        Whether the task is given ``(spec, desk)`` only, in place of ``(prepared, spec, desk)``.
    """

    name: str
    task: str
    noun: str = ""
    parts: tuple[str, ...] = ()
    alone: bool = False


_SERVERLESS = "nona.ui.tasks.serverless"
KINDS: Registry[Kind] = Registry(
    "Job",
    (
        Kind("place", "nona.ui.tasks.place:place_scenario", "placement", PLACEMENT_PARTS),
        Kind("capacity", "nona.ui.tasks.capacity:find_capacity", "", SIMULATION_PARTS),
        Kind("congestion", "nona.ui.tasks.place:predict_congestion", "prediction", PLACEMENT_PARTS),
        Kind("simulate", "nona.ui.tasks.simulate:simulate_scenario", "simulation", SIMULATION_PARTS),
        Kind("sweep", "nona.ui.tasks.sweep:sweep_scenario", "sweep"),
        Kind("answer", "nona.ui.tasks.answer:answer"),
        Kind("count", "nona.ui.tasks.count:count_configurations", "count of configurations", alone=True),
        Kind("validate", "nona.ui.tasks.theory:simulate_known", "validation", alone=True),
        Kind("check", "nona.ui.tasks.check:check_self", alone=True),
        Kind("story", "nona.ui.tasks.story:tell_story", "example", alone=True),
        Kind("serverless", f"{_SERVERLESS}:run_serverless", "serverless run", SERVERLESS_PARTS, alone=True),
        Kind(
            "serverless-sharing",
            f"{_SERVERLESS}:compare_ways",
            "comparison of sharing",
            SERVERLESS_PARTS,
            alone=True,
        ),
        Kind(
            "serverless-nodes", f"{_SERVERLESS}:find_nodes", "search for nodes", SERVERLESS_PARTS, alone=True
        ),
        Kind(
            "serverless-schedulers",
            f"{_SERVERLESS}:run_schedulers",
            "run of schedulers",
            (*SERVERLESS_PARTS, "schedulers"),
            alone=True,
        ),
    ),
    JobError,
)
