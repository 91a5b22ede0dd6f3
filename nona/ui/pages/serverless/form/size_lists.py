"""A field for a list of sizes, as ``1, 2, 4, 8``."""

from __future__ import annotations

import streamlit as st

from nona.ui.session.state import AppState, Path
from nona.ui.widgets.fields import plain


def size_list(state: AppState, label: str, path: Path, hint: str) -> None:
    """A text field for whole numbers with commas between them; invalid text stays, with its error."""
    key = f"sizes:{state.revision}:" + ".".join(map(str, path))
    shown = state.shown(path)

    def commit() -> None:
        state.edit(path, parsed(str(st.session_state[key])))

    value = shown if isinstance(shown, str) else ", ".join(map(str, shown))
    st.text_input(label, value, key=key, help=f"{hint} Whole numbers, separated by commas.", on_change=commit)
    draft = state.drafts.get(path)
    if draft:
        st.error(plain(draft.error), icon=":material/error:")


def parsed(text: str) -> list[int] | str:
    """The sizes, sorted, each once; the text itself where it is no list of whole numbers.

    >>> parsed("4, 1 2,2"), parsed("1, two")
    ([1, 2, 4], '1, two')
    """
    words = text.replace(",", " ").split()
    if words and all(w.isdigit() for w in words):
        return sorted({int(w) for w in words})
    return text
