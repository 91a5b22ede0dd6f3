"""What there is to know of a model at a glance: its size, its times, what splitting could gain."""

from __future__ import annotations

import streamlit as st

from nona.cost.costed import CostedGraph
from nona.report.inputs.figures import provenance_text
from nona.report.inputs.given_times import given_text
from nona.report.inputs.models import inspection
from nona.sources.samples import description
from nona.ui.loaded.loading import Loaded
from nona.ui.pages.models.views import gain_statement, parallelism_picture
from nona.ui.session.state import AppState
from nona.ui.widgets.drawing.drawing import draw
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tiles import tiles
from nona.units import format_count, format_size


def model_facts(state: AppState, loaded: Loaded) -> None:
    """Figures of the model on the page, the most that splitting could gain, and warnings."""
    costed = loaded.prepared.costed[0]
    report = inspection(costed)
    if about := description(state.model):
        st.caption(plain(about))
    draw("parallelism", parallelism_picture(report.total_compute_s, report.critical_path_s))
    st.markdown(gain_statement(report.parallelism))
    tiles(
        [
            (
                "Operators",
                f"{report.operators:,}",
                "Nodes that run; constants are parameters.",
            ),
            ("Edges", f"{report.edges:,}", "Pairs of operators of which one reads what the other wrote."),
            ("Work in GMAC", f"{report.gmac:.4g}", "10⁹ multiply-adds of convolutions and matrix products."),
            ("Parameters", format_count(report.parameters), "Weights, each counted once."),
            ("Weights", format_size(report.weight_bytes), "Bytes of all parameters."),
            (
                "Parallelism T₁/T∞",
                f"{report.parallelism:.3f}",
                "One after the other, over the longest chain: the most that splitting can gain.",
            ),
        ]
    )
    times_origin(costed)
    for warning in report.warnings:
        st.warning(plain(warning), icon=":material/warning:")


def times_origin(costed: CostedGraph) -> None:
    """Say for which device the times are, and where they come from."""
    report = inspection(costed)
    given = given_text(report.given, costed.device)
    told = f"{costed.device}, {provenance_text(report.provenance)}" + (f" ({given})" if given else "")
    st.caption(plain(told))
