"""The kinds of jobs: name, what the result depends on, and which function does it.

Everything that tells jobs apart reads this one list: the server that starts them, the worker that does
them, the session that says whether a result is stale, the side bar that shows what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from nona.errors import JobError
from nona.registry import Registry, load
from nona.results.document import Document
from nona.study.cache import PARTS

SIMULATION_PARTS = (*PARTS, "simulation", "schedulers", "seed")
_SERVERLESS = ("cluster", "workload", "models", "simulation", "seed", "serverless")
_TRAINING = ("cluster", "workload", "models", "simulation", "seed", "training", "cost")
_ELASTIC = ("cluster", "simulation", "seed", "training")
_LANGUAGE = (*SIMULATION_PARTS, "language", "routers")
_MODEL = ("cluster", "cost", "contraction", "models")


@dataclass(frozen=True, slots=True)
class TaskKind:
    """One kind of job.

    ``name``: key of a job and its result.
    ``noun``: name for people, as in "Cancel the …".
    ``parts``: top-level parts of the scenario that its result depends on: the name of a scenario changes no
        placement, for example. Empty: the result depends on no scenario.
    ``run``: the function that does it, as ``module:function``, called with the job's description and a
        :class:`~nona.ui.tasks.desk.Desk`; it returns a :class:`~nona.results.document.Document`, whose type
        is its annotation. As text, so that only a worker imports it before there is a result.
    ``quick``: True if it takes seconds whatever the scenario: it has places of its own, so that it never
        waits for work that takes minutes.
    """

    name: str
    noun: str
    parts: tuple[str, ...]
    run: str
    quick: bool = False

    def task(self) -> Callable[..., Document]:
        """Import the function's module, and return the function."""
        function: Callable[..., Document] = load(self.run)
        return function

    def read(self, data: Mapping[str, Any]) -> Document:
        """The result of a job of this kind, from the JSON that its worker sent."""
        of: type[Document] = get_type_hints(self.task())["return"]
        return of.from_json(data)


def _kind(name: str, noun: str, parts: tuple[str, ...], run: str, quick: bool = False) -> TaskKind:
    return TaskKind(name, noun, parts, f"nona.ui.tasks.{run}", quick)


_PLANNED = (*SIMULATION_PARTS, "plan")
KINDS: Registry[TaskKind] = Registry(
    "Job",
    (
        _kind("place", "placement", PARTS, "planning:place_scenario"),
        _kind("plan", "plan", _PLANNED, "planning:plan_purchase"),
        _kind("holds", "check of the cluster", _PLANNED, "planning:does_it_hold"),
        _kind("simulate", "simulation", SIMULATION_PARTS, "simulation:simulate_scenario"),
        _kind("language", "simulation of language models", _LANGUAGE, "language:simulate_requests"),
        _kind("language-plan", "plan for language models", (*_LANGUAGE, "plan"), "language:plan_requests"),
        _kind("sweep", "sweep", SIMULATION_PARTS, "simulation:sweep_scenario"),
        _kind("grid", "sweep of two numbers", SIMULATION_PARTS, "simulation:sweep_numbers"),
        _kind("answer", "quick answer", SIMULATION_PARTS, "simulation:answer", quick=True),
        _kind("count", "count of configurations", _MODEL, "checks:count_configurations"),
        TaskKind("validate", "validation", (), "studies.theory_job:simulate_known"),
        _kind("serverless", "serverless run", _SERVERLESS, "serverless:run_serverless"),
        _kind("serverless-sharing", "comparison of sharing", _SERVERLESS, "serverless:compare_ways"),
        _kind("serverless-over", "search for knees", _SERVERLESS, "serverless:run_over"),
        _kind("serverless-nodes", "search for nodes", _SERVERLESS, "serverless:find_nodes"),
        _kind("training", "training run", _TRAINING, "training:run_training"),
        _kind("training-one-more", "comparison of GPUs", _TRAINING, "training:add_one_gpu"),
        _kind("training-elastic", "run of elastic jobs", _ELASTIC, "training:run_elastic"),
    ),
    JobError,
)
