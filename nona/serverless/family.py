"""What serverless workflows bring to the rooms that serve all families."""

from __future__ import annotations

from nona.core.family import Compiled, Family, PageEntry, ResultKind, TaskKind

_PARTS = ("cluster", "workload", "models", "simulation", "seed", "serverless")

SERVERLESS = Family(
    name="serverless",
    pages=(
        PageEntry(
            "serverless", "Serverless", "bolt", "Which policy keeps the SLOs of workflows, at what cost?"
        ),
    ),
    commands=("nona.cli.commands.scenarios:ServerlessOptions",),
    tasks=(
        TaskKind("serverless", "serverless run", _PARTS, "nona.app.tasks.serverless:run_serverless"),
        TaskKind(
            "serverless-sharing", "comparison of sharing", _PARTS, "nona.app.tasks.serverless:compare_ways"
        ),
        TaskKind("serverless-over", "search for knees", _PARTS, "nona.app.tasks.serverless:run_over"),
        TaskKind("serverless-nodes", "search for nodes", _PARTS, "nona.app.tasks.serverless:find_nodes"),
    ),
    saved=(
        ResultKind(
            "serverless",
            "serverless run",
            "nona.serverless.chart_data:ServerlessOutcome",
            "nona.app.store.families:SERVERLESS",
        ),
    ),
    styles=("nona.serverless.policies.registry:POLICIES", "nona.cluster.sharing.registry:SHARING_MODES"),
    compiled=(
        Compiled("serverless", "nona.serverless.replications:compile_loop", "nona/serverless/engine"),
        Compiled(
            "searches",
            "nona.serverless.policies.esg.search:compile_searches",
            "nona/serverless/policies/esg",
        ),
    ),
    keys=("serverless",),
    unknown="nona.serverless.policies.registry:unknown_names",
)
