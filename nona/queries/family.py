"""What queries, and plans for them, bring to the rooms that serve all families."""

from __future__ import annotations

from nona.core.family import Compiled, Family, PageEntry, ResultKind, TaskKind

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
            takes="nona.app.pages.scenario.language:take_requests",
        ),
        PageEntry(
            "models",
            "Models",
            "account_tree",
            "What could a query gain from being split?",
            takes="nona.app.pages.models.times:take_measured",
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
        TaskKind("place", "placement", PLACED, "nona.app.tasks.planning:place_scenario"),
        TaskKind("plan", "plan", _PLANNED, "nona.app.tasks.planning:plan_purchase"),
        TaskKind("holds", "check of the cluster", _PLANNED, "nona.app.tasks.planning:does_it_hold"),
        TaskKind("simulate", "simulation", SIMULATED, "nona.app.tasks.simulation:simulate_scenario"),
        TaskKind("sweep", "sweep", SIMULATED, "nona.app.tasks.simulation:sweep_scenario"),
        TaskKind("grid", "sweep of two numbers", SIMULATED, "nona.app.tasks.simulation:sweep_numbers"),
        TaskKind("answer", "quick answer", SIMULATED, "nona.app.tasks.simulation:answer", quick=True),
        TaskKind("count", "count of configurations", _MODEL, "nona.app.tasks.checks:count_configurations"),
        TaskKind("validate", "validation", (), "evidence.theory_job:simulate_known"),
    ),
    saved=(
        ResultKind(
            "simulation",
            "simulation",
            "nona.queries.report.report:SimulatedRun",
            "nona.app.store.families:SIMULATION",
        ),
        ResultKind("plan", "plan", "nona.planning.results:PlanOutcome", "nona.app.store.families:PLAN"),
        ResultKind(
            "check",
            "check of the cluster",
            "nona.planning.results:HoldsOutcome",
            "nona.app.store.families:CHECK",
        ),
        ResultKind(
            "placement",
            "placement",
            "nona.queries.placement.results:SolvedPlacement",
            "nona.app.store.families:PLACEMENT",
        ),
        ResultKind(
            "sweep", "sweep", "nona.queries.sweeps.results:SweepOutcome", "nona.app.store.families:SWEEP"
        ),
        ResultKind(
            "grid",
            "sweep of two numbers",
            "nona.queries.sweeps.results:GridOutcome",
            "nona.app.store.families:GRID",
        ),
    ),
    styles=("nona.queries.schedulers.registry:SCHEDULERS",),
    compiled=(
        Compiled(
            "queries",
            "nona.queries.simulation.compiled.preparation:compile_all",
            "nona/queries/schedulers",
            core=(
                "nona/queries/simulation/compiled/core.py",
                "nona/queries/simulation/compiled/events",
                "nona/queries/simulation/reference/kernel.py",
                "nona/queries/simulation/reference/executors.py",
                "nona/queries/simulation/batching.py",
                "nona/queries/schedulers/base.py",
                "nona/core/arrays.py",
            ),
        ),
        Compiled("learning", "evidence.learning.training:make_ready", "evidence/learning", last=True),
    ),
    keys=("schedulers", "plan"),
    unknown="nona.queries.schedulers.registry:unknown_schedulers",
)
