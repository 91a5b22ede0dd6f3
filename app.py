"""Nona Planner in the browser. Run it with ``nona app`` or ``streamlit run app.py``."""

import streamlit as st

from nona.ui.session.page_list import page_list
from nona.ui.shell.shell import follow, icon_path, open_session, side_bar

st.set_page_config(page_icon=icon_path(), layout="wide")
state = open_session()
page = st.navigation(page_list())
follow(state)
side_bar(state)
st.title(page.title)
page.run()
state.drawn = state.revision
