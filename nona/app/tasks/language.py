"""A simulation of language engines, and what to buy for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nona.app.tasks.context import JobContext, PlacingReporter, scenario_of, sources_of
from nona.language.results import LanguagePlan, LanguagePlanned, LanguageRun
from nona.language.workflows.engines import prepare_language
from nona.language.workflows.following import CoupledQueries
from nona.language.workflows.outcome import TRACED, language_outcome
from nona.language.workflows.plan import plan_language
from nona.language.workflows.simulation import simulate_language
from nona.queries.workflows.shipped import now_text
from nona.scenario.provenance import about_scenario


def simulate_requests(spec: Mapping[str, Any], context: JobContext) -> LanguageRun:
    """Simulate the scenario's requests to language models under its routers."""
    scenario = scenario_of(spec)
    prepared = prepare_language(scenario, sources_of(spec))
    watch = PlacingReporter(context, last=0.0, before="The placement of the queries: ")
    queries = partial(
        CoupledQueries.prepare, cache=context.cache, check=context.check, on_progress=watch.on_progress
    )

    def report_share(router: str, share: float) -> None:
        context.report_progress(share, router, phase="")

    result = simulate_language(prepared, steps=TRACED, on_progress=report_share, queries=queries)
    return language_outcome(scenario, result, now_text())


def plan_requests(spec: Mapping[str, Any], context: JobContext) -> LanguagePlanned:
    """Find what to buy for the scenario's requests to language models."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    about = about_scenario(scenario, scenario, now_text())

    def report_share(plan: LanguagePlan, text: str, share: float) -> None:
        so_far = partial(LanguagePlanned, about=about, plan=plan)
        context.report_progress(share, text, so_far, keeps=plan.best is not None, open=True)

    return LanguagePlanned(about=about, plan=plan_language(scenario, sources, report_share))
