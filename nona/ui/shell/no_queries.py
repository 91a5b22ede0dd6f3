"""What a page about queries says of a scenario that has none, such as one of training jobs only."""

from __future__ import annotations

import streamlit as st

from nona.ui.session.state import AppState


def no_queries(state: AppState, needed_for: str) -> bool:
    """Whether the workload is empty; then one line says what to do, with links to where it is done."""
    if state.scenario.workload:
        return False
    if state.scenario.training is not None:
        text = f"This scenario has training jobs only. {needed_for} needs a row in the workload."
    else:
        text = f"The workload is empty. {needed_for} needs a row in it."
    with st.container(border=True, key="no-queries"):
        st.markdown(text)
        with st.container(horizontal=True):
            st.page_link("pages/5_workload.py", label="Add a row", icon=":material/add:")
            if state.scenario.training is not None:
                st.page_link("pages/10_training.py", label="Open Training", icon=":material/model_training:")
    return True
