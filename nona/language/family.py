"""What language models bring to the rooms that serve all families."""

from __future__ import annotations

from nona.core.family import Compiled, Family, ResultKind, TaskKind

_PARTS = (
    *("cluster", "background", "workload", "batching", "cost", "contraction", "objective", "models"),
    *("simulation", "schedulers", "seed", "language", "routers"),
)

LANGUAGE = Family(
    name="language",
    tasks=(
        TaskKind(
            "language", "simulation of language models", _PARTS, "nona.app.tasks.language:simulate_requests"
        ),
        TaskKind(
            "language-plan",
            "plan for language models",
            (*_PARTS, "plan"),
            "nona.app.tasks.language:plan_requests",
        ),
    ),
    saved=(
        ResultKind(
            "language",
            "simulation of language models",
            "nona.language.results:LanguageRun",
            "nona.app.store.families:LANGUAGE",
        ),
        ResultKind(
            "language-plan",
            "plan",
            "nona.language.results:LanguagePlanned",
            "nona.app.store.families:LANGUAGE_PLAN",
        ),
    ),
    styles=("nona.language.routers:ROUTERS",),
    compiled=(Compiled("language", "nona.language.run:make_ready", "nona/language"),),
    keys=("cluster", "workload", "language"),
    unknown="nona.language.models:unknown_models",
    messages="nona.language.workflows.engines:messages_over_links",
)
