"""Above a page: what is wrong with a scenario, and a workspace that came back from disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from nona.app.session.editing import PlacePath
from nona.app.session.opening import OpeningProblems, open_file
from nona.app.session.page_list import PAGES
from nona.app.session.state import AppState
from nona.app.session.workspace import saving_problem
from nona.app.session.workspace_files import RestoredNotice
from nona.app.widgets.downloads import download_button
from nona.app.widgets.fields import button, entry_error, plain, show_error
from nona.core.errors import NonaError, reasons
from nona.scenario.gate import one_line
from nona.scenario.lookup import named_files
from nona.scenario.opening import is_bundle

KINDS = {
    "model": "model",
    "trace": "trace",
    "measured": "measured times",
    "times": "times of a function",
    "throughputs": "throughputs",
    "profile": "traffic by hour",
    "elastic": "elastic jobs and their profiles",
}
_ADDED = "missing-files"


def problem_notice(state: AppState) -> None:
    """Show the problems of the scenario that could not be opened, one in a line, until they are dismissed."""
    problems = state.choices.get(OpeningProblems)
    if not problems.lines:
        return
    count = "" if len(problems.lines) == 1 else f", for {len(problems.lines)} reasons"
    title = f"**{plain(problems.what)} was not opened{count}.** Your scenario stays as it was."
    with st.container(key="problems", gap="xsmall"):
        st.error("\n".join([title, "", *map(_item, problems.lines)]), icon=":material/error:")
        if problems.text:
            text = problems.text.encode("utf-8", "replace")
            download_button("Download its text", "broken-text", text, "link.txt")
        button("Dismiss", "dismiss", state.choices.keep, OpeningProblems(), icon="close")


@contextmanager
def shown_errors() -> Iterator[None]:
    """Show an error of the input on the page; the side bar with *Undo* stays usable."""
    try:
        yield
    except NonaError as error:
        st.error(
            f"**This page cannot show the scenario.** {plain(one_line(str(error)))} "
            "Change it, or use *Undo* in the side bar.",
            icon=":material/error:",
        )


def _item(line: str) -> str:
    r"""Return a problem as an entry of a list, the place in bold.

    >>> _item("seed: is missing; add it.")
    '- **seed**\\: is missing; add it.'
    """
    place, colon, rest = line.partition(": ")
    return (
        f"- **{plain(place)}**{plain(colon + rest)}"
        if colon and " " not in place.partition(" (")[0]
        else f"- {plain(line)}"
    )


RUNNING = ("placement", "simulation", "plan", "serverless", "training")
"""Pages with runs."""
_PAGES = {
    **dict.fromkeys(("simulation", "schedulers", "routers", "seed", "expert"), "simulation"),
    **{part: part for part in ("plan", "serverless", "training")},
    "objective": "placement",
    "contraction": "models",
}
"""Part of the scenario → the page with its fields; else page Scenario."""


def hindrance_notice(state: AppState, page: str) -> None:
    """Say once, above a page with runs, what has to be corrected before anything can run."""
    if page not in RUNNING:
        return
    for path, draft in state.drafts.items():
        there = PAGES[_PAGES.get(str(path[0]), "scenario")]
        place = f"Page {there.title}, {_entry_name(state, path)}{entry_error(path, draft.error)}"
        with st.container(key="hindrance", gap="xsmall"):
            st.warning(f"**Nothing can run yet.** {plain(place)}", icon=":material/edit_note:")
            if there.name != page:
                st.page_link(there.file, label=f"Open {there.title}", icon=f":material/{there.icon}:")
        return
    problem = state.problem()
    if problem and not missing(state):
        st.warning(f"**Nothing can run yet.** {plain(problem)}", icon=":material/edit_note:")


def _entry_name(state: AppState, path: PlacePath) -> str:
    """Name the row or the group of servers in which an entry stands; empty where it stands in neither."""
    rows = {"workload": state.scenario.labels, "language": state.scenario.language_labels}
    match path:
        case ("workload" | "language" as part, int(number), *_) if number < len(rows[part]):
            return f"row {rows[part][number]}, "
        case ("cluster", "servers", int(number), *_):
            return f"server group {number + 1}, "
        case _:
            return ""


def missing(state: AppState) -> dict[str, str]:
    """Return the files that the session does not have, each with what it is.

    Either the scenario names them, or they were uploaded and have been removed since.
    """
    uploaded = set(state.uploads.names())
    named = {f.name: KINDS[f.kind] for f in named_files(state.scenario) if f.name not in uploaded}
    return dict.fromkeys(state.uploads.lost(), "upload") | named


def missing_notice(state: AppState) -> None:
    """Files that are not here, why that is, and an upload for them."""
    names = missing(state)
    if not names:
        return
    listed = ", ".join(f"**{plain(name)}** ({kind})" for name, kind in names.items())
    with st.container(border=True, key="missing", gap="small"):
        if lost := state.uploads.lost():
            st.markdown(
                f":material/folder_off: Files were removed from the server's temporary folder: {listed}. Add "
                "them again below."
            )
            button("Continue without them", "forget-lost", state.uploads.forget, lost, icon="close")
        else:
            st.markdown(
                f":material/find_in_page: This scenario names files that are not here: {listed}. Add them "
                "below, or ask the scenario's author for its bundle, which contains them all (*Download "
                "bundle* in the side bar)."
            )
        key = f"{_ADDED}-{state.revision}-{len(names)}"
        st.file_uploader(
            "Missing files, or the scenario's bundle",
            accept_multiple_files=True,
            key=key,
            on_change=_add,
            args=(state, key),
            max_upload_size=128,
            help="Files are matched by name. A single missing file may have any name.",
        )
        if complaint := state.choices.complaints.get(_ADDED):
            show_error(complaint)


def _add(state: AppState, key: str) -> None:
    given, names = st.session_state[key] or [], list(missing(state))
    state.choices.complaints.pop(_ADDED, None)
    for file in given:
        data = file.getvalue()
        name = names[0] if len(given) == len(names) == 1 else file.name
        try:
            if is_bundle(data):
                open_file(state, file.name, data)
            elif name in names:
                state.uploads.add(name, data)
            else:
                state.choices.complaints[_ADDED] = f"{file.name} is none of {', '.join(names)}; rename it."
        except NonaError as error:
            state.choices.complaints[_ADDED] = "\n".join(reasons(error))


def kept_notice(state: AppState) -> None:
    """Say that the workspace could not be restored, with the file for download, or why nothing is saved."""
    if problem := saving_problem():
        st.warning(plain(problem), icon=":material/save:")
    restored = state.choices.get(RestoredNotice)
    if not restored.lines and restored.broken is None:
        return
    broken = restored.broken
    with st.container(key="restored", gap="xsmall"):
        title = "**Your saved work could not be opened, so this workspace is empty.** Download its text."
        lines = [] if broken is None else [title]
        st.warning("\n\n".join([*lines, *map(plain, restored.lines)]), icon=":material/restore_page:")
        with st.container(horizontal=True):
            if broken is not None:
                hint = "The whole saved workspace; the scenario is under the key `scenarios`."
                key, file = "download-broken", "nona_workspace.json"
                download_button("Download the text", key, broken.read_bytes, file, hint)
            hint = "Removes this notice and the file that could not be opened."
            button("Dismiss", "dismiss-restored", _dismiss, state, icon="close", hint=hint)


def _dismiss(state: AppState) -> None:
    broken = state.choices.get(RestoredNotice).broken
    if broken is not None:
        broken.unlink(missing_ok=True)
    state.choices.keep(RestoredNotice())
