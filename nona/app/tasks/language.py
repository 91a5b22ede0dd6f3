"""A simulation of language engines, and what to buy for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nona.app.tasks.desk import JobContext, PlacingWatch, scenario_of, sources_of
from nona.language.results import LanguagePlan, LanguagePlanned, LanguageRun
from nona.language.study.engines import prepare_language
from nona.language.study.following import Following
from nona.language.study.plan import plan_language
from nona.language.study.simulation import TRACED, language_outcome, simulate_language
from nona.queries.study.shipped import now_text
from nona.scenario.provenance import about_scenario


def simulate_requests(spec: Mapping[str, Any], desk: JobContext) -> LanguageRun:
    """Simulate the scenario's requests to language models under its routers."""
    scenario = scenario_of(spec)
    study = prepare_language(scenario, sources_of(spec))
    watch = PlacingWatch(desk, last=0.0, before="The placement of the queries: ")
    queries = partial(Following.of, cache=desk.cache, check=desk.check, on_progress=watch.take)

    def told(router: str, share: float) -> None:
        desk.tell(share, router, phase="")

    result = simulate_language(study, steps=TRACED, on_progress=told, queries=queries)
    return language_outcome(scenario, result, now_text())


def plan_requests(spec: Mapping[str, Any], desk: JobContext) -> LanguagePlanned:
    """Find what to buy for the scenario's requests to language models."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    about = about_scenario(scenario, scenario, now_text())

    def told(plan: LanguagePlan, text: str, share: float) -> None:
        so_far = partial(LanguagePlanned, about=about, plan=plan)
        desk.tell(share, text, so_far, keeps=plan.best is not None, open=True)

    return LanguagePlanned(about=about, plan=plan_language(scenario, sources, told))
