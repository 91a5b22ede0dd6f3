"""The tab: the functions of the scenario with their times, a choice for each, the default law, the fits."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from nona.errors import NonaError
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.scenario.file import scenario_hash
from nona.serverless.model.system import ServerlessSystem
from nona.study.serverless import prepare_serverless
from nona.ui.loaded.shelf import fetch
from nona.ui.pages.serverless.functions.choosing import choose_times
from nona.ui.pages.serverless.functions.fit_views import fit_views
from nona.ui.session.state import AppState
from nona.ui.session.workspace import whose
from nona.ui.widgets.fields import number, plain
from nona.ui.widgets.tables import table

PART = "serverless"


def functions_tab(state: AppState, data: ServerlessOutcome | None) -> None:
    """What the functions take, where that is from, and how to change it."""
    try:
        system = _system(state)
    except NonaError as error:
        st.error(plain(str(error)), icon=":material/error:")
    else:
        alt = "Every function: seconds at the smallest configuration, on the CPU, on one and on all vGPUs"
        table(pd.DataFrame(function_times(system)), "serverless-function-times", alt, placeholder="–")
        choose_times(state, tuple(f.name for f in system.functions))
    _default_law(state)
    fit_views()


def function_times(system: ServerlessSystem) -> list[dict[str, object]]:
    """A row for each function of the system."""
    space, rows = system.space, []
    largest = int(space.vgpus.max())
    smallest = space[space.smallest]
    most = next(
        c
        for c, own in enumerate(space.configurations)
        if (own.batch, own.vcpus, own.vgpus) == (smallest.batch, smallest.vcpus, largest)
    )
    for number_, function in enumerate(system.functions):
        cpu, gpu = (float(s[number_, space.smallest]) for s in (system.cpu_s, system.gpu_s))
        fastest_s = float(system.time_s[number_, most])  # infinite where a file has no time for it
        rows.append(
            {
                "function": function.name,
                "smallest, ms": round(1e3 * (cpu + gpu), 2),
                "on the CPU, %": round(100 * cpu / (cpu + gpu), 1),
                f"on {largest} vGPUs, ms": round(1e3 * fastest_s, 2) if math.isfinite(fastest_s) else None,
                "cold start, s": function.cold_start_s,
                "confirmed": ", ".join(function.confirmed) or "nothing",
                "source": function.source,
            }
        )
    return rows


def _default_law(state: AppState) -> None:
    st.markdown("**Functions of which only the time T at the smallest configuration is known**")
    st.caption(
        "The CPU takes its share of T, the GPU the rest times max(floor, (constant + (1 - constant) · b) / "
        "g^exponent), the shape of the measured VGG-16 and VGG-19. The share on the CPU is assumed. It "
        "decides whether vCPUs or vGPUs run out first: vary it."
    )
    with st.grid(4, min_column_width=150):
        with st.container():
            hint = "Part of T that runs on the CPU, a tenth of it serial. No source says how much; assumed."
            number(state, "CPU share", (PART, "cpu_share"), 0.0, 0.99, 0.05, hint)
        with st.container():
            hint = "Least GPU time over that at one vGPU and batch 1, however many vGPUs."
            number(state, "Floor", (PART, "gpu_floor"), 0.0, 20.0, 0.01, hint)
        with st.container():
            hint = "Part of the GPU time at batch 1 that does not grow with the batch."
            number(state, "Constant", (PART, "gpu_constant"), 0.0, 0.99, 0.01, hint)
        with st.container():
            hint = "1: twice the vGPUs, half the time; 0: more vGPUs never help."
            number(state, "Exponent", (PART, "gpu_exponent"), 0.0, 2.0, 0.01, hint)


def _system(state: AppState) -> ServerlessSystem:
    parts = ("cluster", "workload", "models", "serverless", "cost", "contraction", "seed")
    mark = f"{scenario_hash(state.scenario, *parts)} {state.uploads.names()}"
    return fetch(
        ("serverless-functions", whose(), mark),
        lambda: prepare_serverless(state.scenario, state.uploads.sources),
        "Reading the workflows",
    )
