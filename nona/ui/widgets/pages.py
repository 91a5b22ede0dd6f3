"""A long list on a page: as many entries as a browser draws at once, and a way to the others."""

from __future__ import annotations

import streamlit as st

AT_ONCE = 20


def shown_at_once(total: int, key: str, what: str) -> range:
    """The places of the entries that stand on the page now; a long list gets a widget to choose them.

    Parameters
    ----------
    total
        How many entries there are.
    key
        Of the widget; the choice lasts as long as the session.
    what
        The entries, in the plural.
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
