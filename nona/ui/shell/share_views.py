"""Links: the popover that makes one, taking in one that was opened, and asking before it replaces work."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from nona.errors import NonaError, ScenarioError
from nona.scenario.schema import Scenario
from nona.ui.loaded.loading import apart, portable
from nona.ui.session.kept import choices, take_choices
from nona.ui.session.problems import Problems
from nona.ui.session.share import LONGEST, MOST_CHOICES, PARAMETER, Shared, held_text, pack, unpack
from nona.ui.session.start import take_scenario, with_plain_names
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain

LINK = "The link"
SMALL_BYTES = 100_000  # an uploaded file beyond it is not even tried
HERE = ("localhost", "127.0.0.1", "::1")


def share_popover(state: AppState) -> None:
    """A link to this page with the present scenario, or why there can be none."""
    popover = st.popover("Share", icon=":material/link:", width="stretch", on_change="rerun", key="share")
    if not popover.open:
        return
    with popover:
        missing = apart(state.scenario)
        text = pack(Shared(_whole(state), _choices(state)))
        if missing or len(text) > LONGEST or _unread(state):
            st.warning(plain(_too_much(state, missing, len(text))), icon=":material/attach_file:")
            st.caption("Use *Download bundle*: it holds the scenario with all its files, for app and shell.")
            return
        link = address(text)
        with st.container(key="share-link"):
            st.code(link, language=None, wrap_lines=True, height=150)
        st.caption(
            plain(f"{len(link):,} characters: this page, the scenario, and what is chosen on the page.")
        )
        if state.drafts:
            st.caption("Invalid entries are not in it.")
        if urlsplit(link).hostname in HERE:
            st.caption("It opens on this machine. For another one use *Download bundle*.")


def address(text: str) -> str:
    """The address of this page with what it shows, and nothing that leads to this session."""
    shown = {k: st.query_params.get_all(k) for k in st.query_params if k != PARAMETER}
    base = (st.context.url or "http://localhost:8501").rstrip("/")
    base += "" if urlsplit(base).path else "/"
    return f"{base}?{urlencode({**shown, PARAMETER: text}, doseq=True)}"


def _choices(state: AppState) -> dict[str, Any]:
    """The latest small choices."""
    return dict(list(choices(state).items())[-MOST_CHOICES:])


def _whole(state: AppState) -> Scenario:
    """The scenario with small uploaded models inside it."""
    return state.scenario if _unread(state) else portable(state)


def _unread(state: AppState) -> list[str]:
    """Uploaded models of the workload that cannot go into a link, without having read them all."""
    own = [r.model for r in state.scenario.workload if r.model in state.uploads.names()]
    heavy = [m for m in own if state.uploads.size(m) > SMALL_BYTES]
    if own and not heavy:
        try:
            portable(state)
        except NonaError:
            return own
    return heavy


def _too_much(state: AppState, missing: tuple[str, ...], length: int) -> str:
    held = [r.model for r in state.scenario.workload if r.model in state.uploads.names()]
    names = list(dict.fromkeys([*missing, *held, *state.scenario.models]))
    why = "what it holds" if not names else ", ".join(names)
    size = f" ({length:,} characters; {LONGEST:,} is the most)" if length > LONGEST else ""
    return f"A link cannot carry {why}{size}."


def take_link(state: AppState) -> None:
    """Open the address's scenario: immediately in a fresh session, else after an answer."""
    text = st.query_params.get(PARAMETER)
    if text is None:
        return
    del st.query_params[PARAMETER]
    try:
        shared = unpack(text, state.uploads.sources)
    except ScenarioError as error:
        state.choices.keep(Problems.of(LINK, error, held_text(text)))
        return
    state.choices.keep(Problems())
    if shared.scenario == state.scenario:
        return
    if state.untouched:
        _adopt(state, shared)
    else:
        state.offer = shared


def link_notice(state: AppState) -> None:
    """The question whether a link may replace the present scenario."""
    if state.offer is None:
        return
    with st.container(border=True, key="link-offer"):
        offered, own = plain(state.offer.scenario.name), plain(state.scenario.name)
        st.markdown(f"**A link brought the scenario “{offered}”.** You are working on “{own}”.")
        with st.container(horizontal=True):
            st.button("Open it", type="primary", icon=":material/link:", on_click=_accept, args=(state,))
            st.button("Keep mine", on_click=_decline, args=(state,))
        st.caption("Opening it can be undone in the side bar.")


def _accept(state: AppState) -> None:
    if state.offer is not None:
        _adopt(state, state.offer)


def _decline(state: AppState) -> None:
    state.offer = None


def _adopt(state: AppState, shared: Shared) -> None:
    take_scenario(state, with_plain_names(shared.scenario))
    take_choices(state, dict(shared.choices))
    state.offer = None
