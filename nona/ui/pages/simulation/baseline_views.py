"""The shown run against the pinned one: old, new, and the differences with intervals."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from nona.report.simulations.compared.baseline import changes, pairing
from nona.report.simulations.compared.scenario_diff import change_text
from nona.report.simulations.compared.text import baseline_headline, baseline_rows, columns_of
from nona.report.simulations.figures.baseline import dumbbell_figure
from nona.results.simulation.compared import Measure
from nona.ui.session.runs import Kept
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

MEASURES: Mapping[str, Measure] = {
    "Mean JCT": "jct_s",
    "SLO hits": "slo_hit_rate",
    "Executors": "compute",
    "Link": "network",
}


def baseline_panel(state: AppState, new: Kept) -> None:
    """Nothing without a baseline; a hint while the baseline itself is shown."""
    old = state.runs.baseline
    if old is None:
        return
    with st.container(border=True, key="baseline"):
        if old.number == new.number:
            st.caption(
                "This run is the baseline. Change the cluster, the workload or anything else, run again, "
                "and both appear side by side here."
            )
            return
        _beside(old, new)


def _beside(old: Kept, new: Kept) -> None:
    match = pairing(old.data.scenario, new.data.scenario, (_warmup(old), _warmup(new)))
    found = changes(old.data.means, new.data.means, match.paired)
    what = change_text(old.data.scenario, new.data.scenario) or "Nothing changed"
    states = {n: (_state(old, n), _state(new, n)) for n in found}
    st.markdown(f"##### {plain(baseline_headline(what[0].upper() + what[1:], found, states))}")
    if not found:
        st.caption("The two runs have no scheduler in common: choose one of the baseline's again.")
        return
    measure = st.segmented_control(
        "Measure",
        list(MEASURES),
        default="Mean JCT",
        required=True,
        key="baseline-measure",
        persist_state="session",
        help="What is compared: hollow grey the baseline, filled this run, lines 95 % intervals.",
    )
    picture(
        dumbbell_figure(found, MEASURES[measure]),
        key="baseline-chart",
        alt=f"{measure} of each scheduler in the baseline and in this run, with 95 % intervals",
    )
    rows = pd.DataFrame(baseline_rows(found))
    alt = "Baseline, this run and change of every scheduler"
    table(rows, "baseline-changes", alt, "against_baseline", columns_of(MEASURES[measure]))
    single = min(len(m.jct_s) for m in (*old.data.means.values(), *new.data.means.values())) < 2
    few = " One replication gives no interval: run 2 or more." if single else ""
    st.caption(
        plain(
            f"{match.text}{few} Baseline: run {old.title}. * the 95 % interval of the change excludes 0; "
            "each interval holds separately."
        )
    )


def _warmup(run: Kept) -> int | None:
    warmup = run.data.report.warmup
    return None if warmup is None else warmup.jobs


def _state(run: Kept, name: str) -> str:
    return run.data.report.schedulers[name].state
