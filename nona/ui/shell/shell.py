"""What surrounds every page: the page list, the side bar with the scenario's file and its jobs."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl

import streamlit as st

from nona.ui.jobs.kinds import KINDS
from nona.ui.loaded.tidying import tidying
from nona.ui.session.kept import remember, restore
from nona.ui.session.page_list import icon_path
from nona.ui.session.received import received
from nona.ui.session.state import AppState
from nona.ui.session.workspace import session_state
from nona.ui.shell.job_panel import collect, current_job
from nona.ui.shell.kept_views import kept_notice
from nona.ui.shell.problem_views import missing_notice, problem_notice
from nona.ui.shell.progress import progress_text
from nona.ui.shell.scenario_bar import scenario_bar
from nona.ui.shell.share_views import link_notice, take_link
from nona.ui.shell.strip import PRODUCT, strip
from nona.ui.widgets.fields import plain

STYLE = Path(__file__).parent / "shell.css"


def open_session() -> AppState:
    """The session's state, with a link and the results of finished jobs taken in."""
    tidying().seen()
    received()
    state = session_state()
    remember(state)
    restore(state)
    take_link(state)
    collect(state)
    return state


def follow(state: AppState, page: str) -> None:
    """Go to the page that a button's callback chose, e.g. ``pages/13_guide.py?term=JCT``.

    A callback itself cannot. ``page`` is the file of the page that runs. The wish is kept until its page
    runs: what the browser sends meanwhile, from the page before, would lead back to that one.
    """
    wanted, _, query = state.go_to.partition("?")
    if not wanted or (state.on_way and page == wanted):
        state.go_to, state.on_way = "", False
        return
    state.on_way = True
    st.switch_page(wanted, query_params=dict(parse_qsl(query)))


def page_head(state: AppState, title: str) -> None:
    """The page's title, that of the browser's tab, and the strip."""
    st.set_page_config(page_title=f"{title} · {PRODUCT}", page_icon=icon_path())
    st.title(title)
    strip(state)


def side_bar(state: AppState) -> None:
    """The scenario with its file and its link, and what is running; above the page what there is to say."""
    st.html(STYLE)
    st.logo(icon_path(), size="large")
    with st.sidebar:
        running = [kind for kind in KINDS if _unfinished(state, kind)]
        st.fragment(_jobs, run_every=1.0 if running else None)(state, running)  # seen without scrolling
        scenario_bar(state)
    link_notice(state)
    kept_notice(state)
    problem_notice(state)
    missing_notice(state)
    if state.toast:
        st.toast(f"{plain(state.toast)} {state.toast_link}".strip(), icon=":material/check:", duration="long")
        state.toast, state.toast_link = "", ""


def _unfinished(state: AppState, kind: str) -> bool:
    job = current_job(state, kind)
    return job is not None and job.unfinished


def _jobs(state: AppState, before: list[str]) -> None:
    """What waits or runs, each with its end: a job continues while another page is open."""
    for kind, task in KINDS.items():
        job = current_job(state, kind)
        if job is None or not job.unfinished:
            continue
        job.touch()
        with st.container(border=True, gap="xsmall", key=f"running-{kind}"):
            st.progress(job.fraction, text=f"{task.noun.capitalize()} {job.status}")
            st.caption(plain(progress_text(job) if job.waiting else job.text))
            st.button(f"Cancel the {task.noun}", on_click=job.cancel, width="stretch", key=f"stop-{kind}")
    if before and not any(_unfinished(state, kind) for kind in before):
        st.rerun()  # its result is taken in, and the polling ends
