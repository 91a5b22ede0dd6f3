"""Saved items side by side: what differs in the scenario, what differs in the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from nona.report.saved.figure import answers_figure
from nona.report.saved.text import changes_text, comparison_rows, date_text
from nona.results.saved import SavedComparison
from nona.store.comparing import compare
from nona.ui.pages.saved.access import attempt, store
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


@dataclass(frozen=True, slots=True)
class _Compared:
    """What is compared: nothing, or items by their identifiers; and what was found."""

    ids: tuple[str, ...] = ()
    found: SavedComparison | None = None


def compared(state: AppState) -> bool:
    """Whether a comparison was asked for."""
    return bool(state.choices.of(_Compared).ids)


def start_comparing(state: AppState, ids: Sequence[str]) -> None:
    """Show these items side by side, the first as the reference."""
    found = attempt(state, lambda: compare(store(), ids))
    if found is not None:
        state.choices.keep(_Compared(tuple(ids), found))


def compare_panel(state: AppState) -> bool:
    """The comparison in place of the list; whether there is one."""
    found = state.choices.of(_Compared).found
    if found is None:
        return False
    st.button(
        "Back to the list", icon=":material/arrow_back:", on_click=_stop, args=(state,), key="saved-back"
    )
    with st.grid(len(found.items), min_column_width=220):
        for number, item in enumerate(found.items, start=1):
            with st.container(border=True):
                st.markdown(f"**{number} · {plain(item.name)}**")
                st.caption(plain(f"{date_text(item)} · fingerprint {item.facts.fingerprint}"))
                if number > 1:
                    st.markdown(plain(changes_text(found.scenario[number - 1])))
                    st.caption(plain(found.notes[number - 1]))
                else:
                    st.markdown("The others are compared with this one.")
                st.markdown(plain(item.facts.finding))
    _answers(found)
    return True


def _answers(found: SavedComparison) -> None:
    measures = list(dict.fromkeys(answer.measure for answer in found.answers))
    if not measures:
        return
    measure = st.segmented_control(
        "Measure",
        measures,
        default=measures[0],
        required=True,
        key="saved-measure",
        persist_state="session",
        help="What the chart and the table show; lines and ± are 95 % intervals.",
    )
    chosen = found.model_copy(update={"answers": tuple(a for a in found.answers if a.measure == measure)})
    alt = f"{measure} of each scheduler in each of the compared items, with 95 % intervals"
    picture(answers_figure(chosen), key="saved-chart", alt=alt)
    rows = pd.DataFrame(comparison_rows(chosen))
    table(rows, "saved-answers", alt, "saved_comparison")
    st.caption(
        "Columns are numbered as above; “2 − 1” is the change from 1 to 2. * the 95 % interval of the change "
        "excludes 0; each interval holds separately."
    )


def _stop(state: AppState) -> None:
    state.choices.keep(_Compared())
