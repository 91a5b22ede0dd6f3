"""Nona Planner in the browser: imported once by the server, for ``app``, and run as a script by sessions."""

import streamlit as st
from streamlit.starlette import App

from nona.app.layout.frame import follow, open_session, page_events, page_head, side_bar
from nona.app.layout.notices import hindrance_notice, shown_errors
from nona.app.pages.demo import demo_bar, press_key, take_demo
from nona.app.pages.palette import palette
from nona.app.pages.scenario.workload_facts import uncounted_notice
from nona.app.server.application import lifespan, middleware
from nona.app.session.page_list import page_list
from nona.app.widgets.terms import page_terms


def run() -> None:
    """One run of the script: the session, the layout, the page itself."""
    state = open_session()
    tour = take_demo(state)
    page = st.navigation(page_list(), expanded=True)
    follow(state, page.url_path)
    palette(state)
    side_bar(state)
    page_head(state, page.url_path)
    hindrance_notice(state, page.url_path)
    uncounted_notice(state, page.url_path)
    demo_bar(state, tour)
    body, foot = st.container(), st.container()  # a page may stop the script: what is below it comes first
    with foot:
        page_terms(page.title, bool(state.scenario.language) and not state.scenario.workload)
        page_events(state, page.url_path, tour.place if tour else "", lambda told: press_key(state, told))
    with body, shown_errors():
        page.run()
    state.screens.drawn()


if __name__ == "__main__":
    run()
else:
    app = App(__file__, middleware=middleware(), lifespan=lifespan)
