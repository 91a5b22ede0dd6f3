"""Nona Planner: whether and how ML inference queries should be split over a shared GPU cluster.

The names in ``PUBLIC`` are the Python API; nothing else is promised. Each is imported when it is first
used, so that a command or a script loads only the parts that it needs.

>>> import nona
>>> system = nona.prepare(nona.open_scenario(nona.scenario_path("slides_example")).scenario)
>>> nona.place(system).simulated.mean < 0.03
True
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, whose import takes a while in which no signal is handled
if TYPE_CHECKING:
    from pathlib import Path

__version__ = "0.2.0"

PUBLIC = {
    "nona.core.errors": ("NonaError", "ScenarioError"),
    "nona.core.registry": ("ChartStyle", "Registry", "Strategy"),
    "nona.core.statistics": ("mean_interval",),
    "nona.cluster.hardware.cluster": ("Cluster",),
    "nona.cluster.hardware.device": ("devices", "find_device", "user_devices"),
    "nona.cluster.hardware.executor": ("executor_class",),
    "nona.cluster.sharing.registry": ("SHARING_MODES",),
    "nona.models.graph.readers": ("read_model",),
    "nona.models.graph.registry": ("READERS",),
    "nona.models.cost.costing": ("cost_graph",),
    "nona.models.cost.options": ("CostOptions",),
    "nona.models.contraction.rules": ("RULES", "contract"),
    "nona.models.contraction.task_graph": ("TaskGraph",),
    "nona.models.decomposition": ("decompose",),
    "nona.models.prepared": ("PreparedModel", "prepare_model"),
    "nona.models.report": ("inspection",),
    "nona.scenario.file": ("load_scenario", "parse_scenario"),
    "nona.scenario.lookup": ("Sources",),
    "nona.scenario.opening": ("open_scenario", "pack_bundle"),
    "nona.scenario.sample_files": ("load_sample", "sample_names", "scenario_names", "scenario_path"),
    "nona.scenario.schema": ("Scenario",),
    "nona.queries.system": ("System",),
    "nona.queries.placement.fixed": ("local_placement", "spread_placement"),
    "nona.queries.schedulers.base": ("NetworkView", "Scheduler", "SchedulerTables"),
    "nona.queries.schedulers.registry": ("SCHEDULERS", "get_scheduler"),
    "nona.queries.workflows.cache": ("PreparationCache",),
    "nona.queries.workflows.outcome": ("simulation_outcome",),
    "nona.queries.workflows.placement_outcome": ("full_report", "placement_outcome"),
    "nona.queries.workflows.placements": ("compare", "place", "predictions"),
    "nona.queries.workflows.preparation": ("PreparedSystem", "prepare"),
    "nona.queries.workflows.simulation": ("SimulationResult", "answers", "chosen_schedulers", "simulate"),
    "nona.queries.sweeps.numbers": ("ScenarioNumber", "number_named", "numbers_of", "with_value"),
    "nona.queries.sweeps.run": ("sweep", "sweep_grid"),
    "nona.planning.holds": ("holds",),
    "nona.planning.plan": ("plan",),
    "nona.language.workflows.outcome": ("language_outcome",),
    "nona.language.workflows.simulation": ("simulate_language",),
    "nona.serverless.policies.registry": ("POLICIES",),
    "nona.serverless.workflows.run": ("serverless_outcome", "simulate_serverless_scenario"),
    "nona.allocation.registry": ("get_policy",),
    "nona.training.workflows.elastic": ("simulate_elastic_jobs",),
    "nona.training.workflows.run": ("simulate_training_scenario",),
}
_HOME = {name: module for module, names in PUBLIC.items() for name in names}
__all__ = tuple(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'nona' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(_HOME)


def import_root() -> Path:
    """Return the folder that holds the package: where child processes find it."""
    from pathlib import Path

    return Path(__file__).resolve().parent.parent


def app_root() -> Path:
    """Return the folder of ``app.py``, ``pages`` and ``sample_models``: the checkout, or inside the wheel."""
    from pathlib import Path

    package = Path(__file__).resolve().parent
    return package.parent if (package.parent / "app.py").is_file() else package / "_app"
