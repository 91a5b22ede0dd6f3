"""Nona Planner in the browser. Run it with ``nona app`` or ``streamlit run app.py``."""

import streamlit as st

from nona.ui.pages.demo.bar import demo_bar
from nona.ui.pages.demo.tour import press, take_demo, tour_of
from nona.ui.session.page_list import icon_path, page_list
from nona.ui.shell.shell import follow, open_session, page_head, side_bar
from nona.ui.shell.surround.surround import surround
from nona.ui.widgets.terms import page_terms

st.set_page_config(page_icon=icon_path(), layout="wide")
state = open_session()
import sys
sys.path.insert(0, "/tmp")
from made import made
from nona.ui.session.state import Result
from nona.scenario.file import scenario_from_mapping
if state.scenario.training is None and "clean" not in st.query_params:
    state.adopt(scenario_from_mapping({"version":1,"name":"T","cluster":{"servers":[{"count":2,"gpu":"v100","gpus":2},{"count":4,"gpu":"k80"}]},"training":{"generate":{"jobs":10}}}))
    state.results["training"] = Result(state.fingerprint("training"), made(), "x")
take_demo(state)
page = st.navigation(page_list())
follow(state)
tour = tour_of(state)
side_bar(state)
page_head(state, page.title)
if tour is not None:
    demo_bar(state, tour)
body, foot = st.container(), st.container()  # a page may stop the script: what is below it comes first
with foot:
    page_terms(page.title)
    surround(state, "" if tour is None else tour.place, lambda key: press(state, key))
with body:
    page.run()
state.drawn = state.revision
