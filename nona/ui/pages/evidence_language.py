"""Language models on the Evidence page: a measured run and the formula, each beside simulations."""

from __future__ import annotations

import streamlit as st

from nona.report.language import evidence
from nona.report.language.tables import HELP, MEASURES
from nona.results.language import FormulaCheck, MeasuredRun
from nona.study.language.evidence import beside_steps, beside_vllm
from nona.ui.pages.run_page import Run, run_area
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.results import chart, table


@st.cache_resource(show_spinner="Simulating the measured requests")
def _measured() -> MeasuredRun:
    return beside_vllm()


def language_tab(state: AppState) -> None:
    """Both comparisons."""
    st.subheader("vLLM, measured and simulated")
    run = _measured()
    st.markdown(
        f"**{plain(evidence.measured_finding(run))}.** The same requests at the same instants, with the "
        "step times that ship for this card; nothing is fitted to this run."
    )
    with st.grid(3, min_column_width=260):
        for measure in run.requests:
            figure = evidence.requests_figure(run, measure)
            title = f"{MEASURES[measure]}, each request".capitalize()
            chart(figure, title, f"measured-{measure}", f"Measured against simulated. {HELP[measure]}")
    table(
        evidence.beside_table(run), "vllm-measured", "Statistics of the measured run beside the simulated one"
    )
    st.caption(plain(evidence.SOURCE))
    st.info(plain(evidence.OPEN_QUESTIONS), icon=":material/help:")
    st.subheader("Steps, measured and shipped")
    steps = beside_steps()
    st.markdown(
        f"**{plain(evidence.steps_finding(steps))}.** The constants were fitted to another project's table."
    )
    table(evidence.steps_table(steps), "steps-measured", "Measured steps beside the shipped constants")
    st.caption(plain(evidence.STEPS_SOURCE))
    st.subheader("The formula and the simulation")
    st.markdown(
        "The mean time per output token has a closed form, in which the lengths of answers count by their "
        "mean and by the tokens that they read. One H100 with Llama 3.1 8B, prompts of 512 tokens, answers "
        "of 128 on average in three distributions."
    )
    run_area(
        state,
        Run(
            kind="language-formula",
            label="Simulate the three distributions",
            of=FormulaCheck,
            answer=lambda state, check: _formula(check),
            before="Fifteen simulations, seconds in all.",
        ),
    )


def _formula(check: FormulaCheck) -> None:
    title = evidence.formula_finding(check)
    alt = "Curves by formula, points simulated"
    chart(evidence.formula_figure(check), title, "language-formula-chart", alt)
    table(evidence.points_table(check), "language-formula-table", "The formula beside simulations, by load")
