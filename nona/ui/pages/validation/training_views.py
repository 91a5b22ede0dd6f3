"""The studies of training clusters on the Validation page: policies over load, and the estimator's error."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.estimator.figures import estimator_figure
from nona.report.estimator.text import estimator_findings, estimator_rows, estimator_title
from nona.report.training.study.figures import load_figure
from nona.report.training.study.text import (
    OURS,
    RULES,
    WHY,
    claim_rows,
    load_rows,
    makespan_rows,
    modes_of,
    provenance,
    title,
)
from nona.results.training.study import TrainingStudy
from nona.study.shipped import shipped_estimator, shipped_training
from nona.ui.pages.validation.elastic_views import elastic_section
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def training_section() -> None:
    """The shipped results: what the paper states and what was found, JCT over load, makespan, estimator."""
    data = shipped_training()
    st.markdown(f"**{plain(title(data))}.** {plain(OURS)}")
    table(pd.DataFrame(claim_rows(data)), "training-claims", "What the paper states, and what was found")
    st.caption(plain(f"{RULES} {WHY}"))
    modes = modes_of(data)
    for mode, column in zip(modes, st.columns(len(modes)), strict=True):
        with column:
            st.markdown(f"**Mean JCT over load, {mode} jobs**")
            alt = f"Mean JCT of each policy over the jobs that arrive per hour, {mode} jobs. {title(data)}"
            picture(load_figure(data, mode), key=f"training-load-{mode}", alt=alt)
    with st.expander("All points with their intervals", icon=":material/table:"):
        _points(data, modes)
    st.caption(plain(provenance(data)))
    elastic_section()
    _estimator()


def _points(data: TrainingStudy, modes: list[str]) -> None:
    for mode in modes:
        st.markdown(f"**{mode} jobs**")
        table(pd.DataFrame(load_rows(data, mode)), f"training-jct-{mode}", f"Mean JCT over load, {mode} jobs")
        table(
            pd.DataFrame(makespan_rows(data, mode)),
            f"training-makespan-{mode}",
            f"All jobs at once, {mode}: makespan of each policy",
        )


def _estimator() -> None:
    data = shipped_estimator()
    st.subheader("Rates estimated from a few profiles")
    st.markdown(
        "A job's rate beside another job on one GPU is estimated from the pairs that were profiled: the row "
        "is completed, and the most similar known model's row is used."
    )
    finding = estimator_title(data)
    st.markdown(f"**{plain(finding)}**")
    alt = f"Mean error of each way of estimating over the share of pairs profiled, for a new model. {finding}"
    picture(estimator_figure(data), key="estimator", alt=alt)
    for line in estimator_findings(data):
        st.markdown(f"- {plain(line)}")
    with st.expander("All points of the estimator", icon=":material/table:"):
        table(pd.DataFrame(estimator_rows(data)), "estimator-points", "Error of each way of estimating")
