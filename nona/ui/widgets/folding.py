"""Settings that fold into one line, and long lists shown in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from nona.ui.widgets.fields import plain

_OPEN, _FOLDED = ":material/expand_less:", ":material/expand_more:"


def summary_bar(
    key: str, parts: Sequence[str], job_id: str | None, beside: Callable[[], object]
) -> DeltaGenerator:
    """A container for settings under a row of one line with ``parts``, and what is drawn ``beside`` it.

    ``job_id`` is that of the latest job that uses the settings, ``None`` before the first: until then the
    settings stand open; a new job folds them. What the person opens or folds afterwards stays so until the
    next start. The line is known by its key and the fields stay where they are, so that neither loses the
    focus when the line changes with what is typed.
    """
    session, last, folded = st.session_state, f"{key}-folded-for", f"{key}-folded"
    if folded not in session or job_id != session.get(last):
        session[last], session[folded] = job_id, job_id is not None

    def turn() -> None:
        session[folded] = not session[folded]

    hidden = bool(session[folded])
    with st.container(gap="xsmall", key=key):
        st.html(_style(key, hidden))
        with st.container(horizontal=True, vertical_alignment="center", key=f"{key}-row"):
            st.button(
                " · ".join(plain(p) for p in parts if p),
                icon=_FOLDED if hidden else _OPEN,
                help="Show the settings." if hidden else "Fold the settings into this line.",
                on_click=turn,
                width="stretch",
                key=f"{key}-line",
            )
            beside()
        return st.container(border=True, key=f"{key}-fields")


def _style(key: str, hidden: bool) -> str:
    """The line starts at the left; folded fields are drawn, but neither seen nor reached by keyboard."""
    button = f".st-key-{key}-line button"
    line = f"{button}, {button} > * {{ justify-content: flex-start; text-align: left; width: 100% }}"
    line_in_row = f".st-key-{key}-row > :is(.st-key-{key}-line, :has(.st-key-{key}-line))"
    room = f"{line_in_row} {{ flex: 1 1 20rem !important; width: 20rem !important; min-width: 0 }}"
    fields = f":is(.st-key-{key}-fields, div:has(> .st-key-{key}-fields):not(.st-key-{key}))"
    fields = f"{fields} {{ display: none !important }}" if hidden else ""
    return f"<style>{line} {room} {fields}</style>"


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


AT_ONCE = 20


def shown_at_once(total: int, key: str, what: str) -> range:
    """The places of the entries that stand on the page now; a long list gets a widget to choose them.

    ``total``: how many entries there are. ``key``: of the widget; the choice lasts as long as the session.
    ``what``: the entries, in the plural.
    """
    if total <= AT_ONCE:
        return range(total)
    pages = -(-total // AT_ONCE)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        caption = st.empty()
        # A last page that is gone is not a page; the widget begins again with another number of them.
        page = st.pagination(pages, key=f"{key}-{pages}", persist_state="session")
    first = AT_ONCE * (page - 1)
    last = min(total, first + AT_ONCE)
    caption.caption(f"{what} {first + 1:,} to {last:,} of {total:,}")
    return range(first, last)
