"""The scenario in the side bar: its name, undo and redo, its file, links to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from nona.app.form import field
from nona.app.layout.equivalents import bundle_file_name, scenario_file_name
from nona.app.layout.notices import missing
from nona.app.layout.open_files import file_field
from nona.app.layout.run_keeper import show_result
from nona.app.models.loading import portable, separate_files
from nona.app.session.editing import PastScenario
from nona.app.session.kept import choices, take_choices
from nona.app.session.opening import OpeningProblems, new_scenario, take_scenario, with_plain_names
from nona.app.session.share import LONGEST, MOST_CHOICES, PARAMETER, Shared, held_text, pack, unpack
from nona.app.session.state import AppState
from nona.app.session.workspace import is_open_twice
from nona.app.session.workspace_files import DAMAGE
from nona.app.store.contents import SAVED_KINDS, Contents
from nona.app.store.saved_results import MOST_NAME
from nona.app.widgets.downloads import download_button
from nona.app.widgets.fields import button, plain
from nona.core.errors import NonaError, ScenarioError
from nona.core.text import join_words
from nona.queries.report.scenario_diff import change_text
from nona.scenario.file import dump_scenario
from nona.scenario.opening import pack_bundle
from nona.scenario.schema import Scenario

LINK = "The link"
SMALL_BYTES = 100_000  # an uploaded file beyond it is not even tried
HERE = ("localhost", "127.0.0.1", "::1")


def _share(state: AppState) -> None:
    """Return the address that carries the scenario, or why there is none."""
    missing = separate_files(state.scenario)
    text = pack(Shared(_whole(state), _choices(state)))
    if missing or len(text) > LONGEST or _unread(state):
        st.warning(plain(_too_much(state, missing, len(text))), icon=":material/attach_file:")
        st.caption("A bundle holds the scenario with all its files, for app and shell.")
        return
    link = address(text)
    with st.container(key="share-link"):
        st.code(link, language=None, wrap_lines=True, height=110)
    st.caption(plain(f"{len(link):,} characters: this page, the scenario, and what is chosen on the page."))
    if state.drafts:
        st.caption("The link leaves out invalid entries.")
    if urlsplit(link).hostname in HERE:
        st.caption("The link opens on this machine. For another machine save a bundle.")


def address(text: str) -> str:
    """Return the address of this page with what it shows, and nothing that leads to this session."""
    shown = {k: st.query_params.get_all(k) for k in st.query_params if k != PARAMETER}
    base = (st.context.url or "http://localhost:8501").rstrip("/")
    base += "" if urlsplit(base).path else "/"
    return f"{base}?{urlencode({**shown, PARAMETER: text}, doseq=True)}"


def run_link(contents: Contents, name: str) -> tuple[str, str]:
    """Return the address of the app with a kept run, or an empty one and what prevents it."""
    opened, result = contents.opened(), contents.answer()
    if files := sorted({*(opened.sources.in_memory or ()), *separate_files(opened.scenario)}):
        return "", f"the scenario needs {join_words(files)}, which a link cannot carry"
    text = pack(Shared(opened.scenario, {}, (contents.kind, name, result.to_json())))
    if len(text) > LONGEST:
        return "", f"with its result it has {len(text):,} characters; {LONGEST:,} is the most"
    return address(text), ""


def _choices(state: AppState) -> dict[str, Any]:
    return dict(list(choices(state).items())[-MOST_CHOICES:])


def _whole(state: AppState) -> Scenario:
    return state.scenario if _unread(state) else portable(state)


def _unread(state: AppState) -> list[str]:
    """Return uploaded models of the workload that cannot go into a link, without having read them all."""
    own = [r.model for r in state.scenario.workload if r.model in state.uploads.names()]
    heavy = [m for m in own if state.uploads.size(m) > SMALL_BYTES]
    if own and not heavy:
        try:
            portable(state)
        except NonaError:
            return own
    return heavy


def _too_much(state: AppState, missing: tuple[str, ...], length: int) -> str:
    uploaded = [r.model for r in state.scenario.workload if r.model in state.uploads.names()]
    names = list(dict.fromkeys([*missing, *uploaded, *state.scenario.models]))
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
        state.choices.keep(OpeningProblems.from_error(LINK, error, held_text(text)))
        return
    state.choices.keep(OpeningProblems())
    if shared.scenario == state.scenario:
        return
    if state.untouched:
        _adopt(state, shared)
    else:
        state.offer = shared


def link_notice(state: AppState) -> None:
    """Ask whether to open a scenario that a link brought."""
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
    if shared.run is not None:
        _show_shared(state, *shared.run)


def _show_shared(state: AppState, kind: str, name: str, data: Mapping[str, Any]) -> None:
    """Show the run of a link, whose figures are what the link states, or say why it cannot be shown."""
    try:
        result = SAVED_KINDS.find(kind[:40]).read(data)
        shown = show_result(state, name[:MOST_NAME], result, f"link-{state.revision}")
    except (NonaError, *DAMAGE) as error:
        state.choices.keep(
            OpeningProblems(LINK, (f"Its run cannot be read ({type(error).__name__}); run it again.",))
        )
        return
    if shown:
        state.notify(f"“{name}” came by the link, as it states: run it again to check it.")


LONGEST_NAME = 120  # letters of what Undo says
FITTING = 26  # letters of a name that its field shows


def scenario_bar(state: AppState) -> None:
    """Draw the name of the scenario, undo and redo, and the file menu."""
    field(state, "name", more="Press Enter to apply.")
    if len(state.scenario.name) > FITTING:
        st.caption(plain(state.scenario.name))
    if is_open_twice():
        st.caption("This scenario is open in another tab too: changes apply to both.")
    _steps(state)
    _file_menu(state)


FILE = "file-menu"


def _file_menu(state: AppState) -> None:
    """All that is done with the scenario as a file; made only while it is open."""
    menu = st.popover("File", icon=":material/folder_open:", width="stretch", on_change="rerun", key=FILE)
    if not menu.open:
        return
    with menu:
        hint = "Starts with one server group and no queries. Undo brings your scenario back."
        button("New scenario", "new-scenario", _new, state, icon="note_add", hint=hint, width="stretch")
        st.markdown("**Open**")
        file_field(state, f"scenario-file-{state.revision}")
        st.markdown("**Save**")
        _downloads(state)
        st.markdown("**Share**")
        _share(state)


def _new(state: AppState) -> None:
    new_scenario(state)
    st.session_state[FILE] = False


def _steps(state: AppState) -> None:
    past, future = state.history.steps(1)
    back, forth = _hint(state, past), _hint(state, future)
    with st.container(horizontal=True, gap="small"):
        hint = plain(f"Back: {back}") if back else "Nothing to undo."
        button(
            "Undo",
            "undo",
            _undo_or_redo,
            state,
            "Undone",
            icon="undo",
            hint=hint,
            disabled=not back,
            width="stretch",
        )
        st.button(
            "Redo",
            icon=":material/redo:",
            disabled=not forth,
            on_click=_undo_or_redo,
            args=(state, "Redone"),
            help=plain(f"Again: {forth}") if forth else "Nothing to redo.",
            width="stretch",
            key="redo",
        )


def _hint(state: AppState, steps: Sequence[tuple[str, PastScenario]]) -> str:
    if not steps:
        return ""
    place, moment = steps[-1]
    return _said(state.scenario, moment.scenario, place)


def _undo_or_redo(state: AppState, done: str) -> None:
    """Undo the last change, or redo one; ``done`` (``Undone`` or ``Redone``) begins the notice."""
    before, undoing = state.scenario, done == "Undone"
    place = state.history.undone if undoing else state.history.redone
    if undoing:
        state.undo()
    else:
        state.redo()
    state.notify(f"{done}: {_said(before, state.scenario, place)}")


def _said(before: Scenario, after: Scenario, place: str) -> str:
    """Describe the change: both names if another scenario was opened, else the difference, else the place."""
    if before.name != after.name:
        return shorten(f"“{before.name}” → “{after.name}”", LONGEST_NAME, placeholder=" …")
    return change_text(before, after, longest=LONGEST_NAME) or place


def _downloads(state: AppState) -> None:
    with st.container(horizontal=True, gap="small"):
        download_button(
            "Save as YAML",
            "download-scenario",
            lambda: scenario_file(state),
            scenario_file_name(state),
            "The scenario as a text file, with uploaded models inside; the command line reads it too.",
            width="stretch",
        )
        download_button(
            "Save as bundle",
            "download-bundle",
            lambda: pack_bundle(state.scenario, state.uploads.sources),
            bundle_file_name(state),
            "Not available while files of the scenario are missing; see the top of the page."
            if missing(state)
            else "The scenario with all its models, traces and tables in one file, for app and command line.",
            "folder_zip",
            disabled=bool(missing(state)),
            width="stretch",
        )
    if files := separate_files(state.scenario):
        st.caption(plain(f"The bundle contains {', '.join(files)}; YAML and links only name such files."))


def scenario_file(state: AppState) -> str:
    """Return the scenario as YAML with uploaded models inside; without them where they cannot be read."""
    try:
        return dump_scenario(portable(state))
    except NonaError:
        return dump_scenario(state.scenario)
