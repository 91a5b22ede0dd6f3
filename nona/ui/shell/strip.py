"""The strip under every page's title: what the scenario is, and what its last run found, each a link."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from nona.report.serverless.words import hit_rate, ranked
from nona.report.simulations.finding.findings import shortest
from nona.report.text import percent_text
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.scenario.schema import Scenario
from nona.ui.jobs.simulated import SimulatedRun
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain

PRODUCT = "Nona Planner"
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
    """Product, scenario, cluster, workload, schedulers; SLO hits where a run has counted them."""
    s = state.scenario
    known = [
        Fact(PRODUCT, "pages/1_overview.py", "To the Overview."),
        Fact(s.name, "pages/1_overview.py", f"The scenario “{s.name}”: its steps are on the Overview."),
        Fact(cluster_text(s), "pages/4_cluster.py", "The cluster: servers and what is in each."),
        Fact(
            workload_text(s), "pages/5_workload.py", "The workload: models, and all their queries together."
        ),
        _deciders(s),
    ]
    hits = _hits(state) if s.serverless is None else _kept(state)
    return (*known, hits) if hits else tuple(known)


def cluster_text(scenario: Scenario) -> str:
    """The first group of servers, and how many other groups there are."""
    first, *others = scenario.cluster.servers
    each = f"{first.gpus} × " if first.gpus > 1 else ""
    more = f" + {len(others)} more" if others else ""
    return (
        f"{first.count} servers, {each}{first.gpu}{more}"
        if first.count != 1
        else f"1 server, {each}{first.gpu}{more}"
    )


def workload_text(scenario: Scenario) -> str:
    """The models and the rate of all queries together."""
    names, rate = scenario.labels, sum(row.rate for row in scenario.workload)
    return f"{names[0] if len(names) == 1 else f'{len(names)} models'}, {rate:.4g}/s"


def _deciders(scenario: Scenario) -> Fact:
    """The first scheduler, or policy of a serverless scenario, and how many are compared with it."""
    part = scenario.serverless
    entries = scenario.schedulers if part is None else part.policies
    names = [entry.name for entry in entries]
    text = f"{names[0]} + {len(names) - 1}" if len(names) > 1 else names[0]
    if part is None:
        return Fact(text, "pages/7_simulation.py", f"Schedulers: {', '.join(names)}.")
    return Fact(text, "pages/8_serverless.py", f"Serverless policies: {', '.join(names)}.")


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
    """SLO hits of the policy that keeps most SLOs in the last serverless run."""
    run = state.held("serverless", ServerlessOutcome)
    found = {} if run is None else ranked(run.report.policies, hit_rate, highest=True)
    best = next(iter(found), None)
    return None if best is None else _share(state, "serverless", "pages/8_serverless.py", best, found[best])


def _share(state: AppState, kind: str, page: str, best: str, rate: float | None) -> Fact | None:
    if rate is None:
        return None
    stale = state.is_stale(kind)
    text = f"{percent_text(rate)} SLO hits{' (earlier scenario)' if stale else ''}"
    of = "an earlier scenario: run again for the present one" if stale else "this scenario"
    return Fact(text, page, f"SLO hits of {best} in the last run, which is of {of}.")
