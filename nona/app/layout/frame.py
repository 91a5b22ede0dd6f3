"""Around every page: the page list, the side bar, the strip under the title, the keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

import streamlit as st

from nona.app.jobs.kinds import KINDS
from nona.app.layout.job_panel import collect, current_job, progress_text
from nona.app.layout.notices import kept_notice, missing_notice, problem_notice
from nona.app.layout.open_files import drop_zone
from nona.app.layout.scenario_bar import link_notice, scenario_bar, take_link
from nona.app.models.loading import idle_collector
from nona.app.server.streamlit_private import received
from nona.app.session.kept import remember, restore
from nona.app.session.page_list import HOME, PAGES, icon_path, page_file, redirect_old_url
from nona.app.session.state import AppState
from nona.app.session.workspace import session_state
from nona.app.store.report import cluster_text, workload_text
from nona.app.widgets.components import COMPONENTS, declare
from nona.app.widgets.fields import plain
from nona.core.compiled.build import is_ready
from nona.core.compiled.families import FAMILIES, compiling
from nona.core.tables import kept_text
from nona.core.units import duration
from nona.planning.servers import cluster_cost, cost_note
from nona.queries.report.findings import shortest
from nona.queries.report.report import SimulatedRun
from nona.scenario.provenance import runs_as
from nona.scenario.schema import Scenario
from nona.serverless.chart_data import ServerlessOutcome
from nona.serverless.report.findings import keeps_most
from nona.training.elastic.results import ElasticHistory
from nona.training.report.findings import by_mean_jct, hours_text
from nona.training.results import TrainingOutcome

PRODUCT = "Nona Planner"
TRAINING = "pages/training.py"
STRIP_KEY = "strip"
WITH_STRIP = ("placement", "simulation", "plan")  # pages that are about the scenario and do not show it
OF_PART = ("serverless", "training")  # as those, once the scenario has that part
COMPILING_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class StripFact:
    """One fact of the strip: its text, the page that it leads to, and what it says in full."""

    text: str
    page: str
    about: str


def _strip(state: AppState, page: str) -> None:
    """One line of links to other pages; it wraps where the window is narrow."""
    with st.container(horizontal=True, gap=None, key=STRIP_KEY):
        for fact in facts(state):
            if fact.page == page_file(page):
                continue
            st.page_link(fact.page, label=plain(fact.text), icon="", help=plain(fact.about))


def facts(state: AppState) -> tuple[StripFact, ...]:
    """Scenario, cluster, workload, schedulers; SLO hits of a run, and cost, where they are known."""
    s = state.scenario
    always_shown = [
        StripFact(s.name, "pages/scenario.py", f"The scenario “{s.name}”."),
        StripFact(cluster_text(s), "pages/scenario.py", "The cluster: servers and what is in each."),
        _workload(s),
        *(
            [StripFact(runs_as(s), "pages/scenario.py", "How all models run: software stack, and precision.")]
            if s.workload
            else []
        ),
        _deciders(s),
    ]
    return tuple(fact for fact in (*always_shown, _last_run(state), _cost(s)) if fact)


def _cost(scenario: Scenario) -> StripFact | None:
    cost = cluster_cost(scenario)
    about = f"{cost_note(scenario)} Page Plan has the prices."
    return StripFact(f"cluster: {cost}", "pages/plan.py", about) if cost else None


def _workload(scenario: Scenario) -> StripFact:
    if scenario.training is not None and not scenario.workload:
        return StripFact(workload_text(scenario), TRAINING, "The training jobs of the scenario.")
    about = "The workload: models, and all their queries together."
    return StripFact(workload_text(scenario), "pages/scenario.py", about)


def _deciders(scenario: Scenario) -> StripFact:
    """How many schedulers, or policies of a serverless or training scenario, are compared."""
    part, training = scenario.serverless, scenario.training
    if training is not None and not scenario.workload:
        deciding = training.decided_by
        return StripFact(_count(deciding, "policies"), TRAINING, f"Training policies: {', '.join(deciding)}.")
    if scenario.language and not scenario.workload:
        names = [entry.name for entry in scenario.routers]
        return StripFact(_count(names, "routers"), "pages/simulation.py", f"Routers: {', '.join(names)}.")
    names = [entry.name for entry in (scenario.schedulers if part is None else part.policies)]
    if part is None:
        return StripFact(
            _count(names, "schedulers"), "pages/simulation.py", f"Schedulers: {', '.join(names)}."
        )
    return StripFact(
        _count(names, "policies"), "pages/serverless.py", f"Serverless policies: {', '.join(names)}."
    )


def _count(names: Sequence[str], of: str) -> str:
    return f"{len(names)} {of}" if len(names) > 1 else names[0]


def _last_run(state: AppState) -> StripFact | None:
    """Return the result of the best scheduler or policy of the last run of the scenario's kind."""
    spec = state.scenario
    best: str | None
    if spec.training is not None and not spec.workload:
        kind = "training" if spec.training.elastic is None else "training-elastic"
        jobs = state.result_of(kind, TrainingOutcome) or state.result_of(kind, ElasticHistory)
        best, mean_s = next(iter(by_mean_jct(jobs.report.policies).items() if jobs else ()), ("", 0.0))
        return _best(state, kind, TRAINING, best, f"mean JCT {hours_text(mean_s)}", "Mean JCT")
    if spec.serverless is not None:
        calls = state.result_of("serverless", ServerlessOutcome)
        best = keeps_most(calls.report.policies) if calls else None
        rate = calls.report.policies[best].slo_hit_rate.mean if calls and best else None
        return _hits(state, "serverless", "pages/serverless.py", best, rate)
    run = state.result_of("simulate", SimulatedRun)
    if run is None or run.about.name != spec.name:
        return None
    best = shortest(run.report.schedulers)
    rate = run.report.schedulers[best].slo_hit_rate.mean if best else None
    return _hits(state, "simulate", "pages/simulation.py", best, rate)


def _hits(state: AppState, kind: str, page: str, best: str | None, rate: float | None) -> StripFact | None:
    return None if rate is None else _best(state, kind, page, best, f"{kept_text(rate)} SLO hits", "SLO hits")


def _best(state: AppState, kind: str, page: str, best: str | None, value: str, what: str) -> StripFact | None:
    if not best:
        return None
    stale = state.is_stale(kind)
    of = "the scenario as it was before the last changes" if stale else "this scenario"
    text = f"{best}: {value}{' (earlier scenario)' if stale else ''}"
    return StripFact(text, page, f"{what} of {best} in the last run, which is of {of}.")


KEY = "page_events"
FILES = {name: page_file(name) for name in PAGES}
_component = declare(KEY, why="no element sees keys, links, dragged files and focus of a page")


def page_events(state: AppState, page: str, demo: str, press: Callable[[str], None]) -> None:
    """Watch links and focus; in a demo ``press`` gets a key with the step it was pressed on: ``next 2.1``.

    ``page`` is the address of the page that is shown; ``demo`` is that step, empty outside a demo.
    """

    def open_link() -> None:
        state.go_to = _page_address(str(_event_value("open"))) or state.go_to

    def pressed() -> None:
        press(str(_event_value("key")))

    drop_zone(state, page)
    with st.container(key="page-events-box"):
        _component(
            key=KEY,
            data={"pages": list(FILES), "demo": demo},
            on_open_change=open_link,
            on_key_change=pressed,
        )


def _event_value(name: str) -> object:
    return (st.session_state.get(KEY) or {}).get(name) or ""


def _page_address(link: str) -> str:
    """Return a link's page as a file with its query; empty for one that is no page of the app.

    >>> _page_address("help?term=JCT"), _page_address("elsewhere")
    ('pages/help.py?term=JCT', '')
    """
    name, _, query = link.partition("?")
    file = FILES.get(name, "")
    return f"{file}?{query}" if file and query else file


STYLE = COMPONENTS / "layout" / "layout.css"


def open_session() -> AppState:
    """Return the session's state, with a link and the results of finished jobs taken in."""
    st.set_page_config(page_icon=icon_path(), layout="wide")
    idle_collector().note_activity()
    received()
    state = session_state()
    remember(state)
    restore(state)
    take_link(state)
    collect(state)
    return state


def follow(state: AppState, path: str) -> None:
    """Go on from a former address, and to the page that a callback chose, e.g. ``pages/help.py?term=JCT``.

    A callback itself cannot. ``path`` is the address of the page that runs. The wish is kept until its page
    runs: what the browser sends meanwhile, from the page before, would lead back to that one.
    """
    redirect_old_url(path)
    page = page_file(path)
    wanted, _, query = state.go_to.partition("?")
    if not wanted or (state.on_way and page == wanted):
        state.go_to, state.on_way = "", False
        return
    state.on_way = True
    st.switch_page(wanted, query_params=dict(parse_qsl(query)))


def page_head(state: AppState, name: str) -> None:
    """Draw the page's title and question, set the tab's title, and draw the strip where there is one."""
    page = PAGES.get(name, HOME)
    st.set_page_config(page_title=f"{page.title} · {PRODUCT}", page_icon=icon_path())
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="page-head"):
        st.title(page.title, width="content")
        st.markdown(page.question)
    if name in WITH_STRIP or (name in OF_PART and getattr(state.scenario, name) is not None):
        _strip(state, name)


def side_bar(state: AppState) -> None:
    """Draw the scenario with its file and its link, and what is running.

    Above the page what there is to say.
    """
    st.html(STYLE)
    st.logo(icon_path(), size="large")
    with st.sidebar:
        running = [kind for kind in KINDS if _unfinished(state, kind)]
        st.fragment(_jobs, run_every=1.0 if running else None)(state, running)  # seen without scrolling
        ready = all(is_ready(family) for family in FAMILIES)
        st.fragment(_compiling, run_every=None if ready else COMPILING_EVERY_S)()
        scenario_bar(state)
    link_notice(state)
    kept_notice(state)
    problem_notice(state)
    missing_notice(state)
    if state.toast:
        st.toast(f"{plain(state.toast)} {state.toast_link}".strip(), icon=":material/check:", duration="long")
        state.toast, state.toast_link = "", ""


def _compiling() -> None:
    """Say what is compiled in the background, and what that means for runs."""
    found = compiling()
    if found is None:
        return
    family, seconds = found
    number, so_far = list(FAMILIES).index(family) + 1, duration(max(1.0, seconds))
    meanwhile = "are slower" if family == "queries" else "first compile what they need"
    st.caption(
        f"Compiling for this machine, once: {family} ({number} of {len(FAMILIES)}, {so_far} so far). "
        f"Everything can be run; such runs {meanwhile} until then."
    )


def _unfinished(state: AppState, kind: str) -> bool:
    job = current_job(state, kind)
    return job is not None and job.unfinished


def _jobs(state: AppState, before: list[str]) -> None:
    for kind, task in KINDS.items():
        job = current_job(state, kind)
        if job is None or not job.unfinished:
            continue
        job.mark_watched()
        with st.container(border=True, gap="xsmall", key=f"running-{kind}"):
            of = (
                f" of “{state.job_scenarios[kind].name}”"
                if task.parts and kind in state.job_scenarios
                else ""
            )
            st.progress(job.fraction, text=plain(f"{task.noun.capitalize()}{of}"))
            st.caption(plain(progress_text(job)))
            st.button(f"Cancel the {task.noun}", on_click=job.cancel, width="stretch", key=f"stop-{kind}")
    if before and not any(_unfinished(state, kind) for kind in before):
        st.rerun()  # its result is taken in, and the polling ends
