"""Settings that fold into one line once there is a result: what they say, a click away from what they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from nona.ui.widgets.fields import plain


def summary_bar(key: str, parts: Sequence[str], job_id: str | None) -> Any:
    """A container for settings, with ``parts`` as its one line; it folds whenever another job was started.

    ``job_id`` is that of the latest job that uses the settings, ``None`` before the first: until then the
    settings stand open. What the person opens or folds afterwards stays so until the next start.
    """
    session, last = st.session_state, f"{key}-folded-for"
    if job_id != session.get(last):
        session[last], session[key] = job_id, False
    session[key] = bool(session.get(key, job_id is None))  # set anew, for the line is part of its identity
    line = " · ".join(plain(p) for p in parts if p)
    return st.expander(line, icon=":material/tune:", key=key, on_change="rerun")


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
