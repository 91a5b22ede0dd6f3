"""The saved items that this session sees, and what was said when one of them could not be had."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from nona.errors import NonaError
from nona.serving.settings import Serving
from nona.store.database import Database
from nona.store.store import Store
from nona.ui.session.cookie import cookie_name, is_token
from nona.ui.session.state import AppState
from nona.ui.session.workspace import whose
from nona.ui.widgets.fields import plain

PLACE = "saved"  # of the complaint
T = TypeVar("T")


def store() -> Store:
    """The saved items of whoever has this session's cookie, under a hash: the data base holds no token."""
    serving = Serving.read()
    owner = hashlib.sha256(f"saved items of {whose()}".encode()).hexdigest()[:32]
    return Store(Database(serving.store or serving.data), owner, everyone=serving.shared_store)


def attempt(state: AppState, call: Callable[[], T]) -> T | None:
    """What ``call`` returns; where it fails, ``None``, and the reason is shown by :func:`complaint`."""
    state.choices.complaints.pop(PLACE, None)
    try:
        return call()
    except NonaError as error:
        state.choices.complaints[PLACE] = str(error)
        return None


def complaint(state: AppState) -> None:
    """Why the last operation failed."""
    if told := state.choices.complaints.get(PLACE):
        st.error(plain(told), icon=":material/error:")


def cookie_hint() -> None:
    """A warning where the browser keeps no cookie: nobody could find the items again."""
    if not is_token(st.context.cookies.get(cookie_name())):
        st.caption(
            "This browser keeps no cookie of this server, so that what you save is not found again after "
            "it is closed; export it."
        )
