"""The study of elastic jobs on the Validation page, beside what the authors' simulator gave."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.training.elastic.link_figures import link_figure
from nona.report.training.elastic.link_text import cost_rows, link_notes, link_rows, link_title
from nona.report.training.elastic.link_text import provenance as link_provenance
from nona.report.training.elastic.study_figures import interference_figure, load_figure
from nona.report.training.elastic.study_text import (
    avoidance_text,
    interference_rows,
    load_rows,
    provenance,
    replay_lines,
    study_notes,
    study_title,
)
from nona.study.shipped import shipped_elastic, shipped_elastic_link
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def elastic_section() -> None:
    """Mean JCT over load and interference, the authors' figures, the replays."""
    data = shipped_elastic()
    st.subheader("Elastic jobs: Pollux, Optimus, Tiresias and others")
    finding = study_title(data)
    st.markdown(f"**{plain(finding)}.** {plain(avoidance_text(data))}")
    left, right = st.columns(2)
    with left:
        st.markdown("**Mean JCT over relative load**")
        alt = f"Mean JCT of each policy over relative load, with the authors' means. {finding}"
        picture(load_figure(data), key="elastic-load", alt=alt)
    with right:
        st.markdown("**Mean JCT at load 1 over interference**")
        alt = f"Mean JCT of each policy over interference, with the authors' means. {avoidance_text(data)}"
        picture(interference_figure(data), key="elastic-interference", alt=alt)
    for line in replay_lines(data.points, data.workloads):
        st.markdown(f"- {plain(line)}")
    with st.expander("All points of the study of elastic jobs", icon=":material/table:"):
        table(pd.DataFrame(load_rows(data)), "elastic-load-points", "Mean JCT over relative load")
        table(
            pd.DataFrame(interference_rows(data)),
            "elastic-interference-points",
            "Mean JCT at load 1 over interference",
        )
    st.caption(plain(f"{study_notes(data)} {provenance(data)}"))
    _link()


def _link() -> None:
    """What not seeing the link costs."""
    data = shipped_elastic_link()
    finding = link_title(data)
    st.markdown("**Mean JCT on a link that others use too**")
    st.markdown(f"{plain(finding)}.")
    alt = f"Mean JCT of each policy without a link and on two links, with intervals over workloads. {finding}"
    picture(link_figure(data), key="elastic-link", alt=alt)
    with st.expander("All points of elastic jobs on a link", icon=":material/table:"):
        table(pd.DataFrame(link_rows(data)), "elastic-link-points", "Mean JCT of each policy on each link")
        alt = "JCT against that with the link in sight, and what the link costs"
        table(pd.DataFrame(cost_rows(data)), "elastic-link-costs", alt)
    st.caption(plain(f"{link_notes(data)} {link_provenance(data)}"))
