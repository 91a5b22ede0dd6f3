"""The editor of the table of the scheduler ``expert`` on the Simulation page."""

from __future__ import annotations

import streamlit as st

from nona.errors import NonaError
from nona.ui.pages.simulation.expert_edits import (
    MODES,
    OWN_PARTS,
    drop,
    expert_index,
    mode_of,
    parts_problem,
    parts_text,
    placeable,
    set_mode,
    set_parts,
    strangers,
    table_of,
)
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import label_text, plain

SHOWN_TASKS = 40


def expert_table(state: AppState) -> None:
    """One selection per row of the workload, while the scheduler is chosen."""
    if expert_index(state) is None:
        return
    own, unknown = table_of(state), strangers(state)
    wrong = bool(unknown) or any(path[0] == "expert" for path in state.drafts)
    with st.expander("What the expert does with each model", icon=":material/tune:", expanded=wrong):
        st.caption(
            "automatic: the preset with the least predicted completion time at an idle network. Own parts: "
            "each line is a part, its tasks separated by commas; a part gets a server of its own, all else "
            "stays on the first."
        )
        for row, label in enumerate(state.scenario.labels):
            _row(state, row, label, mode_of(own.get(label)))
        if unknown:
            st.error(
                plain(f"Not in the workload: {', '.join(unknown)}; drop or rename the entries."),
                icon=":material/error:",
            )
            st.button("Drop these entries", icon=":material/delete:", on_click=drop, args=(state, unknown))


def _row(state: AppState, row: int, label: str, mode: str) -> None:
    options = MODES if mode in MODES else (*MODES, mode)
    key = f"expert-{state.revision}-{label}"

    def choose() -> None:
        set_mode(state, label, st.session_state[key])

    st.selectbox(
        label_text(label),
        options,
        options.index(mode),
        key=key,
        on_change=choose,
        help="Where expert puts this model's tasks, in every query alike.",
    )
    if mode not in MODES:
        st.error(plain(f"{mode} is no preset; choose one from the list."), icon=":material/error:")
    if mode == OWN_PARTS:
        _parts(state, row, label)


def _parts(state: AppState, row: int, label: str) -> None:
    key = f"expert-parts-{state.revision}-{label}"
    draft = state.drafts.get(("expert", label))
    text = draft.value if draft else parts_text(table_of(state).get(label))

    def commit() -> None:
        set_parts(state, row, str(st.session_state[key] or ""))

    why = parts_problem(state, row, text)
    if draft and not why:  # the model or the rule changed since, and now allows them
        set_parts(state, row, text)
    st.text_area(f"Parts of {label_text(label)}", text, key=key, on_change=commit)
    if why:
        st.error(plain(why), icon=":material/error:")
    try:
        tasks = placeable(state, row)
    except NonaError:
        return
    more = f" … {len(tasks) - SHOWN_TASKS} more" if len(tasks) > SHOWN_TASKS else ""
    st.caption(plain(f"Tasks to place: {', '.join(tasks[:SHOWN_TASKS]) or 'none, it is a chain'}{more}"))
