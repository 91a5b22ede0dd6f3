"""The tab of the functions: where their times are from, the default law."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from nona.app.form import form
from nona.app.models.loading import fetch
from nona.app.pages.serverless.results import choose_one
from nona.app.session.state import AppState
from nona.app.session.workspace import owner_key
from nona.app.widgets.fields import late, show_error, stored_name, upload
from nona.app.widgets.results import table
from nona.core.errors import NonaError
from nona.scenario.file import scenario_hash
from nona.serverless.chart_data import ServerlessOutcome
from nona.serverless.functions import beside_times, network_names
from nona.serverless.profiles import read_profile, rows_of
from nona.serverless.report.text import function_times
from nona.serverless.system import ServerlessSystem
from nona.serverless.workflows.preparation import prepare_serverless

PATH = ("serverless", "functions")
DEFAULT, IN_FILE = "its default", "as in the scenario's file"
ENDING = ".profile.csv"


def _choose_times(state: AppState, names: Sequence[str]) -> None:
    with st.grid(3, min_column_width=220):
        hint = "The function whose times the next field chooses."
        name = choose_one("Function", list(names), "times-function", hint)
        _source(state, name)
        with st.container():
            hint = (
                "Columns batch, ms; optional vcpus, vgpus or gpu_percent, percentile, model; or the "
                "layout of ParvaGPU or of INFless."
            )
            take = partial(_take_profile, state, name)
            upload(state, "Measured times (CSV)", "profile-file", "profile-error", take, hint)


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
        "Default: the shipped function of that name, or the law below with the workflow's own time. A "
        "network: the law fitted to its measurements. A file: your measured times, interpolated."
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


def _take_profile(state: AppState, name: str, file: str, data: bytes) -> None:
    what = f"Profile {file!r}"
    rows_of(read_profile(data, what), name, what)
    kept = state.uploads.add(stored_name(file, ENDING), data)
    _set(state, name, kept, (kept,))


def functions_tab(state: AppState, data: ServerlessOutcome | None) -> None:
    """Draw the tab with the times of every function."""
    try:
        system = _system(state)
    except NonaError as error:
        show_error(error)
    else:
        alt = "Every function: seconds at the smallest configuration, on the CPU, on one and on all vGPUs"
        table(function_times(system), "serverless-function-times", alt)
        _choose_times(state, tuple(f.name for f in system.functions))
    _default_law(state)


def _default_law(state: AppState) -> None:
    st.markdown("**Functions of which only the time T at the smallest configuration is known**")
    st.caption(
        "The CPU takes its share of T. The GPU takes the rest times max(floor, (constant + (1 - constant) · "
        "b) / g^exponent), the shape of the measured VGG-16 and VGG-19. The CPU share is assumed. It decides "
        "whether vCPUs or vGPUs run out first: try several values."
    )
    form(state, "serverless", "cpu_share gpu_floor gpu_constant gpu_exponent", 4, 150)


def _system(state: AppState) -> ServerlessSystem:
    parts = ("cluster", "workload", "models", "serverless", "cost", "contraction", "seed")
    mark = f"{scenario_hash(state.scenario, *parts)} {state.uploads.names()}"
    return fetch(
        ("serverless-functions", owner_key(), mark),
        lambda: prepare_serverless(state.scenario, state.uploads.sources),
        "Reading the workflows",
    )
