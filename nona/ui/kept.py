"""Choices that are no part of the scenario: kept over pages, reloads and errors.

A widget's value lives in the browser's connection and ends with it. ``state.kept`` outlives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from nona.ui.state import AppState

LONGEST = 2000  # characters of a text; longer ones are only kept as long as the connection


def kept(state: AppState, key: str, options: Sequence[Any] | None = None) -> dict[str, Any]:
    """``key`` and ``persist_state`` for a widget whose value is to be found again after a reload.

    Call it right before the widget and pass the result on: ``st.toggle("x", **kept(state, "x"))``.
    A value that is not (or all of which are not) among ``options`` is forgotten, so that a list that has
    changed meanwhile does not break the page. The widget must not be given another value besides.
    With ``options`` it is a choice, which a link to the page carries.
    """
    session = st.session_state
    if options is not None:
        state.shared.add(key)
    if key not in session and key in state.kept:
        session[key] = state.kept[key]
    if key in session and options is not None and not _among(session[key], options):
        del session[key]
        state.kept.pop(key, None)
    if key in session and _is_plain(session[key]):
        state.kept[key] = session[key]
    return {"key": key, "persist_state": "session"}


def _among(value: Any, options: Sequence[Any]) -> bool:
    values = value if isinstance(value, list | tuple) else [value]
    return all(v in options for v in values)


def _is_plain(value: Any) -> bool:
    """Whether the value may be kept and sent: a text, a number, a truth value, or a list of such.

    >>> _is_plain("x"), _is_plain([1, 2.0]), _is_plain(object()), _is_plain("x" * 9999)
    (True, True, False, False)
    """
    if isinstance(value, list | tuple):
        return len(value) <= 100 and all(_is_plain(v) for v in value)
    if isinstance(value, str):
        return len(value) <= LONGEST
    return value is None or isinstance(value, bool | int | float)
