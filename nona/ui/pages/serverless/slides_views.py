"""The slides' evaluation, repeated: the findings, claim by claim, and what the result depends on."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.serverless.figures.over import TITLES, What, over_alt, over_figure
from nona.report.serverless.figures.study import (
    cutoff_figure,
    misses_figure,
    sensitivity_figure,
    settings_figure,
    sharing_figure,
)
from nona.report.serverless.over.slides import claim_text, gap_rows, study_knee_rows
from nona.report.serverless.over.text import over_finding
from nona.report.serverless.pairs import Key
from nona.report.serverless.study.rows import (
    claim_rows,
    cutoff_rows,
    miss_rows,
    search_rows,
    sensitivity_rows,
    setting_rows,
    sharing_rows,
)
from nona.report.serverless.study.text import (
    OURS,
    RULES,
    cutoff_title,
    findings,
    miss_title,
    provenance,
    title,
)
from nona.report.serverless.words import rate_text
from nona.report.text import share_text
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.results.serverless.study import ServerlessStudy
from nona.study.shipped import shipped_path, shipped_serverless
from nona.ui.pages.serverless.layout_views import choose_one
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.widgets.charts import chart, picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def slides_tab(state: AppState, data: ServerlessOutcome | None) -> None:
    """The shipped study; where it is missing, how to make it."""
    if not shipped_path("serverless").is_file():
        st.caption("This copy lacks the study's results. The command below computes them.")
        equivalent(state, "study", "serverless", "--json", key="slides", scenario=False)
        return
    _study(shipped_serverless())
    equivalent(state, "study", "serverless", "--shipped", key="slides", scenario=False)


def _study(data: ServerlessStudy) -> None:
    st.subheader(plain(title(data)), anchor=False)
    st.info(plain(OURS), icon=":material/info:")
    alt = "SLOs kept by every policy in each of the slides' settings, with its cost over ESG's"
    picture(settings_figure(data), "study-settings", f"{alt}. {title(data)}")
    st.caption("Numbers in the bars: cost per call over that of esg. esg-wait is ours; nobody published it.")
    with st.expander("What was found", icon=":material/lightbulb:", expanded=True):
        st.markdown("\n".join(f"* {plain(line)}" for line in findings(data)))
    st.markdown("**Against the slides, claim by claim**")
    table(pd.DataFrame(claim_rows(data)), "study-claims", "Each claim of the slides against the finding")
    st.caption(plain(RULES))
    table(pd.DataFrame(setting_rows(data)), "study-policies", "Every policy in every setting")
    with st.grid(2, min_column_width=360):
        with st.container():
            alt = "Configuration misses of Orion and Aquatope against those of the slides"
            chart(misses_figure(data), miss_title(data), "study-misses", alt)
        with st.container():
            alt = "Orion's share of SLOs kept by the cut-off of its search"
            chart(cutoff_figure(data), cutoff_title(data), "study-cutoff", alt)
    _loads(data)
    _sensitivity(data)
    with st.expander("Misses, searches, cut-offs and ways of sharing in figures", icon=":material/table:"):
        table(_miss_table(data), "study-miss-rows", "Configuration misses beside the slides'")
        table(pd.DataFrame(search_rows(data)), "study-searches", "ESG's searches in each setting")
        table(pd.DataFrame(cutoff_rows(data)), "study-cutoffs", "Orion by the cut-off of its search")
        alt = "SLOs kept under each way of sharing the GPUs"
        picture(sharing_figure(data), "study-ways", alt)
        table(pd.DataFrame(sharing_rows(data)), "study-sharing", "Every policy under each way of sharing")
    st.caption(plain(provenance(data)))


def _miss_table(data: ServerlessStudy) -> pd.DataFrame:
    rows = [
        {
            "setting": row.setting,
            "policy": row.policy,
            "ours": rate_text(row.ours),
            "slides": share_text(row.slides, 1),
        }
        for row in miss_rows(data)
    ]
    return pd.DataFrame(rows)


def _loads(data: ServerlessStudy) -> None:
    """Until which load each policy keeps the SLOs, and where the slides' gaps appear."""
    st.markdown("**Until what load, and where the slides' gaps appear**")
    st.info(plain(claim_text(data)), icon=":material/trending_up:")
    left, right = st.columns(2)
    with left:
        hint = "How the functions' times depend on batch and vGPUs."
        name = choose_one("Profiles", [c.name for c in data.curves], "study-profiles", hint)
    curves = next(c for c in data.curves if c.name == name)
    with right:
        setting = choose_one("Setting ", list(curves.settings), "study-load-setting", "SLO and base load.")
    report = curves.settings[setting]
    st.caption(plain(f"{curves.name}: {curves.about}."))
    chart(over_figure(report), f"{over_finding(report)}.", "study-over-hits", over_alt(report, "hits"))
    with st.grid(2, min_column_width=360):
        others: tuple[What, ...] = ("goodput", "cost")
        for what in others:
            with st.container():
                shown = over_figure(report, what, 300)
                chart(shown, TITLES[what], f"study-over-{what}", over_alt(report, what))
    alt = "Until which load each policy keeps 99 % of the SLOs, by profiles, setting and scarcity of vCPUs"
    table(pd.DataFrame(study_knee_rows(data)), "study-knees", alt)
    alt = "ESG's leads over the other policies at every load, beside the ranges of the slides"
    table(pd.DataFrame(gap_rows(data)), "study-gaps", alt)


def _sensitivity(data: ServerlessStudy) -> None:
    st.markdown("**What the result depends on**: one default changed at a time, for all policies alike")
    left, right = st.columns(2)
    with left:
        hint = "In which of the slides' settings the defaults are changed."
        setting = choose_one("Setting", list(data.settings), "study-setting", hint)
    with right:
        kinds: dict[str, Key] = {"SLOs kept": "hits", "cost": "costs"}
        kind = choose_one("Drawn", list(kinds), "study-kind", "The share of SLOs kept, or the cost per call.")
    alt = f"{kind} of every policy under each changed default in {setting}; first row: defaults"
    picture(sensitivity_figure(data, setting, kinds[kind]), "study-sensitivity", alt)
    rows = pd.DataFrame(sensitivity_rows(data, setting))
    table(rows, "study-alternatives", "Rankings of the policies under each changed default")
