"""Where a function's times are from: the default, a measured network, or a file of measured times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import streamlit as st

from nona.errors import NonaError
from nona.serverless.model.catalogue import beside_times, network_names
from nona.serverless.profiles.reader import read_profile, rows_of
from nona.ui.pages.serverless.layout_views import choose_one
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import late, plain

PATH = ("serverless", "functions")
DEFAULT, IN_FILE = "its default", "as in the scenario's file"
ENDING = ".profile.csv"


def choose_times(state: AppState, names: Sequence[str]) -> None:
    """One function, where its times are from, and an upload for its own."""
    with st.grid(3, min_column_width=220):
        with st.container():
            hint = "The function whose times are chosen beside it."
            name = choose_one("Function", list(names), "times-function", hint)
        with st.container():
            _source(state, name)
        with st.container():
            st.file_uploader(
                "Measured times (CSV)",
                key="profile-file",
                on_change=_take,
                args=(state, name),
                max_upload_size=64,
                help="Columns batch, ms; optional vcpus, vgpus or gpu_percent, percentile, model; or the "
                "layout of ParvaGPU or of INFless. `nona measure --batches --export-profile` writes one.",
            )
    if state.choices.complaints.get("profile-error"):
        st.error(plain(state.choices.complaints["profile-error"]), icon=":material/error:")


def _source(state: AppState, name: str) -> None:
    spec = state.scenario.serverless
    own = spec.functions.get(name) if spec else None
    files = sorted({f.profile for f in spec.functions.values() if f.profile}) if spec else []
    options = [DEFAULT, *network_names(), *files]
    shown = DEFAULT
    if own is not None:
        shown = own.network or own.profile or IN_FILE
    if shown not in options:
        options.append(shown)
    key = f"times-of:{state.revision}:{name}:{shown}"
    revision = state.revision

    def commit() -> None:
        if not late(state, revision):
            _set(state, name, str(st.session_state[key]), files)

    hint = (
        "Its default: the shipped function of that name, or the law below around the workflow's own time. A "
        "network: the law fitted to its measurements. A file: the measured times, and between them."
    )
    st.selectbox("Its times are", options, options.index(shown), key=key, help=hint, on_change=commit)


def _set(state: AppState, name: str, source: str, files: Sequence[str]) -> None:
    if source == IN_FILE:
        return
    chosen = {n: f for n, f in state.value(PATH).items() if n != name}
    if source != DEFAULT:
        kept = state.value(PATH).get(name, {})
        rest = beside_times(name) | {part: kept[part] for part in ("cold_start", "input") if part in kept}
        chosen[name] = {**rest, ("profile" if source in files else "network"): source}
    state.edit(PATH, chosen)


def _take(state: AppState, name: str) -> None:
    upload = st.session_state["profile-file"]
    if upload is None:
        return
    try:
        data, what = upload.getvalue(), f"Profile {upload.name!r}"
        rows_of(read_profile(data, what), name, what)
        kept = state.uploads.add(stored_name(upload.name), data)
        state.choices.complaints.pop("profile-error", None)
        _set(state, name, kept, (kept,))
    except NonaError as error:
        state.choices.complaints["profile-error"] = str(error)


def stored_name(name: str) -> str:
    """The name under which a profile is kept, which tells it from traces and other tables.

    >>> stored_name("times.csv"), stored_name("a/times.profile.csv")
    ('times.profile.csv', 'times.profile.csv')
    """
    base = PurePath(name.replace("\\", "/")).name
    stem = base[: -len(ENDING)] if base.lower().endswith(ENDING) else PurePath(base).stem
    return (stem[:40] or "times") + ENDING
