"""A choice of schedulers that is no part of the scenario: kept over pages and reloads."""

from __future__ import annotations

from collections.abc import Container, Sequence

import streamlit as st

from nona.ui.session.kept import choose
from nona.ui.session.state import AppState
from nona.ui.widgets.schedulerpicker.schedulerpicker import scheduler_picker


def kept_schedulers(
    state: AppState, key: str, label: str, first: Sequence[str], known: Container[str], hint: str
) -> tuple[str, ...]:
    """Draw the choice that is kept under ``key``, and return it; ``first`` until others are chosen.

    What is not among those ``known`` is left out.
    """
    kept = st.session_state.get(key)
    chosen = tuple(n for n in (first if kept is None else kept) if n in known)

    def take(names: tuple[str, ...]) -> None:
        choose(state, key, list(names))

    scheduler_picker(f"{key}-picker", label, chosen, hint, take)
    return chosen
