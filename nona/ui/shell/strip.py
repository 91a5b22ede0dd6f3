"""The strip under every page's title: the scenario, and what its last run found, each a link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from nona.errors import NonaError
from nona.report.plan.words import money
from nona.report.scenario_line import cluster_text, workload_text
from nona.report.serverless.titles import keeps_most
from nona.report.simulations.finding.findings import shortest
from nona.report.simulations.simulated import SimulatedRun
from nona.report.text import percent_text
from nona.report.training.elastic.finding import by_mean
from nona.report.training.words import by_mean_jct, hours_text
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.results.training.elastic_history import ElasticHistory
from nona.results.training.outcome import TrainingOutcome
from nona.scenario.schema import Scenario
from nona.study.planning.question import cluster_price
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain

PRODUCT = "Nona Planner"
TRAINING = "pages/10_training.py"
KEY = "strip"


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of the strip: its text, the page that it leads to, and what it says in full."""

    text: str
    page: str
    about: str


def strip(state: AppState) -> None:
    """One line of links; it wraps where the window is narrow."""
    with st.container(horizontal=True, gap=None, key=KEY):
        for fact in facts(state):
            st.page_link(fact.page, label=plain(fact.text), icon="", help=plain(fact.about))


def facts(state: AppState) -> tuple[Fact, ...]:
    """Product, scenario, cluster, workload, schedulers; SLO hits of a run, and cost, where they are known."""
    s = state.scenario
    known = [
        Fact(PRODUCT, "pages/1_overview.py", "To the Overview."),
        Fact(s.name, "pages/1_overview.py", f"The scenario “{s.name}”: its steps are on the Overview."),
        Fact(cluster_text(s), "pages/4_cluster.py", "The cluster: servers and what is in each."),
        _workload(s),
        _deciders(s),
    ]
    if s.training is not None and not s.workload:
        hits = _mean_jct(state)
    else:
        hits = _hits(state) if s.serverless is None else _kept(state)
    return tuple(fact for fact in (*known, hits, _cost(s)) if fact)


def _cost(scenario: Scenario) -> Fact | None:
    """What the cluster costs as it stands, where the scenario's plan gives prices."""
    try:
        price = cluster_price(scenario)
    except NonaError:  # page Plan says what is wrong
        return None
    if scenario.plan is None or price is None:
        return None
    text = f"as it is: {money(price, scenario.plan.prices.currency)} per hour"
    return Fact(text, "pages/8_plan.py", "Price of the cluster's servers, by the prices on page Plan.")


def _workload(scenario: Scenario) -> Fact:
    if scenario.training is not None and not scenario.workload:
        return Fact(workload_text(scenario), TRAINING, "The training jobs of the scenario.")
    about = "The workload: models, and all their queries together."
    return Fact(workload_text(scenario), "pages/5_workload.py", about)


def _deciders(scenario: Scenario) -> Fact:
    """The first scheduler, or policy of a serverless scenario, and how many are compared with it."""
    part, training = scenario.serverless, scenario.training
    if training is not None and not scenario.workload:
        deciding = training.decided_by
        return Fact(_first(deciding), TRAINING, f"Training policies: {', '.join(deciding)}.")
    names = [entry.name for entry in (scenario.schedulers if part is None else part.policies)]
    text = _first(names)
    if part is None:
        return Fact(text, "pages/7_simulation.py", f"Schedulers: {', '.join(names)}.")
    return Fact(text, "pages/9_serverless.py", f"Serverless policies: {', '.join(names)}.")


def _first(names: Sequence[str]) -> str:
    return f"{names[0]} + {len(names) - 1}" if len(names) > 1 else names[0]


def _mean_jct(state: AppState) -> Fact | None:
    """The shortest mean JCT of the last run of a training cluster."""
    spec = state.scenario.training
    if spec is not None and spec.elastic is not None:
        kind, history = "training-elastic", state.held("training-elastic", ElasticHistory)
        found = {} if history is None else by_mean(history.report.policies)
    else:
        kind, run = "training", state.held("training", TrainingOutcome)
        found = {} if run is None else by_mean_jct(run.report.policies)
    best = next(iter(found), None)
    if best is None:
        return None
    stale = state.is_stale(kind)
    text = f"{best}: mean JCT {hours_text(found[best])}{' (earlier scenario)' if stale else ''}"
    of = "the scenario as it was before the last changes" if stale else "this scenario"
    return Fact(text, TRAINING, f"Mean JCT of {best} in the last run, which is of {of}.")


def _hits(state: AppState) -> Fact | None:
    """SLO hits of the scheduler with the lowest mean JCT in the last run of this scenario as it is or was."""
    run = state.held("simulate", SimulatedRun)
    if run is not None and run.about.name != state.scenario.name:
        return None
    best = shortest(run.report.schedulers) if run is not None else None
    if run is None or best is None:
        return None
    rate = run.report.schedulers[best].slo_hit_rate.mean
    return _share(state, "simulate", "pages/7_simulation.py", best, rate)


def _kept(state: AppState) -> Fact | None:
    """SLO hits of the policy that the last serverless run's headline names."""
    run = state.held("serverless", ServerlessOutcome)
    best = None if run is None else keeps_most(run.report.policies)
    if run is None or best is None:
        return None
    rate = run.report.policies[best].slo_hit_rate.mean
    return _share(state, "serverless", "pages/9_serverless.py", best, rate)


def _share(state: AppState, kind: str, page: str, best: str, rate: float | None) -> Fact | None:
    if rate is None:
        return None
    stale = state.is_stale(kind)
    text = f"{best}: {percent_text(rate)} SLO hits{' (earlier scenario)' if stale else ''}"
    of = "the scenario as it was before the last changes" if stale else "this scenario"
    return Fact(text, page, f"SLO hits of {best} in the last run, which is of {of}.")
