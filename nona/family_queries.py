"""What queries, and plans for them, bring to the rooms that serve all families."""

from __future__ import annotations

from nona.family import Compiled, Family, PageEntry, SavedResult, TaskKind

# What a placement depends on; the seed or the schedulers change none.
PLACED = (
    *("cluster", "background", "workload", "batching", "cost", "contraction", "objective", "models"),
    "language",  # KV of engines with roles crosses the links
)
SIMULATED = (*PLACED, "simulation", "schedulers", "seed")
_PLANNED = (*SIMULATED, "plan")
_MODEL = ("cluster", "cost", "contraction", "models")

QUERIES = Family(
    name="queries",
    pages=(
        PageEntry(
            "scenario",
            "Scenario",
            "dns",
            "Which queries arrive, and what do they run on?",
            takes="nona.ui.pages.scenario_language:take_requests",
        ),
        PageEntry(
            "models",
            "Models",
            "account_tree",
            "What could a query gain from being split?",
            takes="nona.ui.pages.models_times:take_measured",
        ),
        PageEntry("placement", "Placement", "hub", "Which parts of a query should run where?"),
        PageEntry("simulation", "Simulation", "timeline", "Which scheduler keeps the targets?"),
        PageEntry("plan", "Plan", "shopping_cart", "What should we buy, and when does it break?"),
    ),
    commands=(
        "nona.cli.commands.models:InspectOptions",
        "nona.cli.commands.models:ContractOptions",
        "nona.cli.commands.scenarios:PlaceOptions",
        "nona.cli.commands.scenarios:SimulateOptions",
        "nona.cli.commands.planning:SweepOptions",
        "nona.cli.commands.planning:CapacityOptions",
        "nona.cli.commands.planning:PlanOptions",
        "nona.cli.commands.models:TrainDecimaOptions",
        "nona.cli.commands.models:ModelsOptions",
    ),
    tasks=(
        TaskKind("place", "placement", PLACED, "nona.ui.tasks.planning:place_scenario"),
        TaskKind("plan", "plan", _PLANNED, "nona.ui.tasks.planning:plan_purchase"),
        TaskKind("holds", "check of the cluster", _PLANNED, "nona.ui.tasks.planning:does_it_hold"),
        TaskKind("simulate", "simulation", SIMULATED, "nona.ui.tasks.simulation:simulate_scenario"),
        TaskKind("sweep", "sweep", SIMULATED, "nona.ui.tasks.simulation:sweep_scenario"),
        TaskKind("grid", "sweep of two numbers", SIMULATED, "nona.ui.tasks.simulation:sweep_numbers"),
        TaskKind("answer", "quick answer", SIMULATED, "nona.ui.tasks.simulation:answer", quick=True),
        TaskKind("count", "count of configurations", _MODEL, "nona.ui.tasks.checks:count_configurations"),
        TaskKind("validate", "validation", (), "studies.theory_job:simulate_known"),
    ),
    saved=(
        SavedResult(
            "simulation",
            "simulation",
            "nona.report.simulations.report:SimulatedRun",
            "nona.store.families:SIMULATION",
        ),
        SavedResult("plan", "plan", "nona.results.planning:PlanOutcome", "nona.store.families:PLAN"),
        SavedResult(
            "check", "check of the cluster", "nona.results.planning:HoldsOutcome", "nona.store.families:CHECK"
        ),
        SavedResult(
            "placement",
            "placement",
            "nona.results.placement:SolvedPlacement",
            "nona.store.families:PLACEMENT",
        ),
        SavedResult("sweep", "sweep", "nona.results.sweeps:SweepOutcome", "nona.store.families:SWEEP"),
        SavedResult(
            "grid", "sweep of two numbers", "nona.results.sweeps:GridOutcome", "nona.store.families:GRID"
        ),
    ),
    styles=("nona.schedulers.registry:SCHEDULERS",),
    compiled=(
        Compiled(
            "queries",
            "nona.simulation.compiled.preparation:compile_all",
            "nona/schedulers",
            core=(
                "nona/simulation/compiled/core.py",
                "nona/simulation/compiled/events",
                "nona/simulation/reference/kernel.py",
                "nona/simulation/reference/executors.py",
                "nona/simulation/batching.py",
                "nona/schedulers/base.py",
                "nona/arrays.py",
            ),
        ),
        Compiled("learning", "studies.learning.training:make_ready", "studies/learning", last=True),
    ),
    keys=("schedulers", "plan"),
    unknown="nona.schedulers.registry:unknown_schedulers",
)
