"""The kinds of jobs: name, what the result depends on, and which function does it.

Everything that tells jobs apart reads this one list: the server that starts them, the worker that does
them, the session that says whether a result is stale, the side bar that shows what runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from nona.errors import JobError
from nona.registry import Registry

_PLACEMENT = ("cluster", "background", "workload", "cost", "contraction", "objective", "models")
SIMULATION_PARTS = (*_PLACEMENT, "simulation", "schedulers", "seed")
_SERVERLESS = ("cluster", "workload", "models", "simulation", "seed", "serverless")
_TRAINING = ("cluster", "workload", "models", "simulation", "seed", "training", "cost")
_ELASTIC = ("cluster", "simulation", "seed", "training")
_MODEL = ("cluster", "cost", "contraction", "models")


@dataclass(frozen=True, slots=True)
class TaskKind:
    """One kind of job.

    Attributes
    ----------
    name
        Key of a job and its result.
    noun
        Name for people, as in "Cancel the …".
    parts
        Top-level parts of the scenario that its result depends on: the name of a scenario changes no
        placement, for example. Empty: the result depends on no scenario.
    run
        The function that does it, as ``module:function``, called with the job's description and a
        :class:`~nona.ui.tasks.desk.Desk`. As text, so that only a worker imports it.
    result
        The type of its result, as ``module:Class``.
    quick
        True if it takes seconds whatever the scenario: it has places of its own, so that it never waits for
        work that takes minutes.
    """

    name: str
    noun: str
    parts: tuple[str, ...]
    run: str
    result: str
    quick: bool = False

    def read(self, data: Mapping[str, Any]) -> Any:
        """The result of a job of this kind, from the JSON that its worker sent."""
        module, _, name = self.result.partition(":")
        return getattr(import_module(module), name).from_json(data)


KINDS: Registry[TaskKind] = Registry(
    "Job",
    (
        TaskKind(
            "place",
            "placement",
            _PLACEMENT,
            "nona.ui.tasks.planning:place_scenario",
            "nona.results.placement:SolvedPlacement",
        ),
        TaskKind(
            "capacity",
            "search for servers",
            SIMULATION_PARTS,
            "nona.ui.tasks.planning:find_capacity",
            "nona.results.planning:CapacityReport",
        ),
        TaskKind(
            "plan",
            "plan",
            (*SIMULATION_PARTS, "plan"),
            "nona.ui.tasks.planning:plan_purchase",
            "nona.results.planning:PlanOutcome",
        ),
        TaskKind(
            "holds",
            "check of the cluster",
            (*SIMULATION_PARTS, "plan"),
            "nona.ui.tasks.planning:does_it_hold",
            "nona.results.holds:HoldsOutcome",
        ),
        TaskKind(
            "congestion",
            "prediction",
            _PLACEMENT,
            "nona.ui.tasks.planning:predict_congestion",
            "nona.results.placement:CongestionCurve",
        ),
        TaskKind(
            "simulate",
            "simulation",
            SIMULATION_PARTS,
            "nona.ui.tasks.simulation:simulate_scenario",
            "nona.report.simulations.report:SimulatedRun",
        ),
        TaskKind(
            "sweep",
            "sweep",
            SIMULATION_PARTS,
            "nona.ui.tasks.sweeps:sweep_scenario",
            "nona.results.sweeps:SweepOutcome",
        ),
        TaskKind(
            "grid",
            "sweep of two numbers",
            SIMULATION_PARTS,
            "nona.ui.tasks.sweeps:sweep_grid",
            "nona.results.sweeps:GridOutcome",
        ),
        TaskKind(
            "answer",
            "quick answer",
            SIMULATION_PARTS,
            "nona.ui.tasks.simulation:answer",
            "nona.results.simulation:QuickAnswer",
            quick=True,
        ),
        TaskKind(
            "count",
            "count of configurations",
            _MODEL,
            "nona.ui.tasks.checks:count_configurations",
            "nona.results.models:ConfigurationCounts",
        ),
        TaskKind(
            "validate",
            "validation",
            (),
            "nona.ui.tasks.checks:simulate_known",
            "nona.results.program:TheoryResult",
        ),
        TaskKind(
            "check",
            "self-check",
            (),
            "nona.ui.tasks.checks:check_self",
            "nona.results.program:SelfCheckResult",
        ),
        TaskKind(
            "serverless",
            "serverless run",
            _SERVERLESS,
            "nona.ui.tasks.serverless:run_serverless",
            "nona.results.serverless_charts:ServerlessOutcome",
        ),
        TaskKind(
            "serverless-sharing",
            "comparison of sharing",
            _SERVERLESS,
            "nona.ui.tasks.serverless:compare_ways",
            "nona.results.serverless:WaysReport",
        ),
        TaskKind(
            "serverless-over",
            "search for knees",
            _SERVERLESS,
            "nona.ui.tasks.serverless:run_over",
            "nona.results.serverless_study:OverReport",
        ),
        TaskKind(
            "serverless-nodes",
            "search for nodes",
            _SERVERLESS,
            "nona.ui.tasks.serverless:find_nodes",
            "nona.results.serverless:NodesReport",
        ),
        TaskKind(
            "serverless-schedulers",
            "run of schedulers",
            (*_SERVERLESS, "schedulers"),
            "nona.ui.tasks.serverless:run_schedulers",
            "nona.results.serverless:SchedulersReport",
        ),
        TaskKind(
            "training",
            "training run",
            _TRAINING,
            "nona.ui.tasks.training:run_training",
            "nona.results.training:TrainingOutcome",
        ),
        TaskKind(
            "training-one-more",
            "comparison of GPUs",
            _TRAINING,
            "nona.ui.tasks.training:add_one_gpu",
            "nona.results.training:OneMoreReport",
        ),
        TaskKind(
            "training-elastic",
            "run of elastic jobs",
            _ELASTIC,
            "nona.ui.tasks.training:run_elastic",
            "nona.results.elastic:ElasticHistory",
        ),
    ),
    JobError,
)
