"""What a step of the demo found: the result's own words, once the result of the step's scenario is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nona.report.placements.compared import order_finding
from nona.report.plan.text import answer_text, finding_parts
from nona.report.plan.words import day_of
from nona.report.serverless.study.text import title
from nona.report.serverless.titles import latency_title, own_search_title, pareto_title
from nona.report.simulations.finding.headline import headline
from nona.report.simulations.simulated import SimulatedRun
from nona.report.sweeps.stability import stability_finding
from nona.report.training.finding import finding
from nona.report.training.titles import gantt_title, received_title, rho_title
from nona.results.placement.outcome import SolvedPlacement
from nona.results.plan import PlanOutcome
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.results.sweep import SweepOutcome
from nona.results.training.outcome import TrainingOutcome
from nona.study.shipped import shipped_path, shipped_serverless
from nona.ui.pages.demo.story import Step
from nona.ui.pages.demo.tour import mark_of
from nona.ui.session.state import AppState

Told = Callable[[AppState, str], str]


def outcome_text(state: AppState, step: Step) -> str:
    """The finding that the step is about; empty without a run, and until its result is there."""
    result = state.results.get(step.run)
    if result is None or result.fingerprint != mark_of(state, step.run):
        return ""
    tab = next((value for key, value in step.choices if key.endswith("-tabs")), "")
    return TOLD[step.run](state, tab)


def _placement(state: AppState, tab: str) -> str:
    held = state.held("place", SolvedPlacement)
    return "" if held is None else f"{order_finding(held)}."


def _simulation(state: AppState, tab: str) -> str:
    run = state.held("simulate", SimulatedRun)
    return "" if run is None else headline(run.report.schedulers, run.differences, run.off).text


def _sweep(state: AppState, tab: str) -> str:
    held = state.held("sweep", SweepOutcome)
    return "" if held is None else stability_finding(held)


def _plan(state: AppState, tab: str) -> str:
    held = state.held("plan", PlanOutcome)
    if held is None or held.report.answer is None:
        return ""
    large, cheaper = finding_parts(held.report, day_of(held.about.made))
    if tab == "Failures":
        return " ".join(f"Without {f.lost}: {f.verdict}." for f in held.report.failures)
    if tab == "Costs":
        return f"{answer_text(held.report.answer, held.report.currency)}."
    return cheaper if tab == "Evidence" else large


def _serverless(state: AppState, tab: str) -> str:
    held = state.held("serverless", ServerlessOutcome)
    if held is None:
        return ""
    policies = held.report.policies
    if tab == "Search":
        return f"{own_search_title(policies)}."
    if tab == "The slides":
        return f"{title(shipped_serverless())}." if shipped_path("serverless").is_file() else ""
    return f"{latency_title(policies) if tab == 'Latency' else pareto_title(policies)}."


def _training(state: AppState, tab: str) -> str:
    held = state.held("training", TrainingOutcome)
    if held is None:
        return ""
    policy, trace = next(iter(held.traces.items()))  # the one that the page shows first
    if tab == "Rounds":
        return f"{gantt_title(trace, policy)}."
    if tab == "Allocation":
        return f"{policy}: {received_title(trace.received, held.report.policies[policy].received_error)}."
    return f"{rho_title(held.report.policies)}." if tab == "Fairness" else finding(held.report.policies)[0]


TOLD: Mapping[str, Told] = {
    "place": _placement,
    "simulate": _simulation,
    "sweep": _sweep,
    "plan": _plan,
    "serverless": _serverless,
    "training": _training,
}
