"""The shipped studies on the Evidence page: one tab each, with its charts between finding and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import plotly.graph_objects as go
import streamlit as st

from nona.report import batches
from nona.report.studies import decisions, elastic, figures, network_views, paper, policy_figures
from nona.report.studies import prediction_map as maps
from nona.report.studies import split_or_batch as split
from nona.report.studies import training as policies
from nona.report.sweep_figures import sweep_figure
from nona.report.text import Presented
from nona.results import studies
from nona.results.elastic import ElasticLinkStudy, ElasticStudy
from nona.results.sweeps import SweepReport
from nona.schedulers.network_remarks import VIEW_MEANINGS
from nona.study.measured_batches import beside_measured
from nona.study.shipped import stored_result
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import one_of, plain
from nona.ui.widgets.policy_choice import kept_schedulers
from nona.ui.widgets.results import picture, table, titled
from nona.ui.widgets.terms import term


def show_study(study: Presented, draw: Callable[[], None]) -> None:
    """The finding, what ``draw`` draws, the sentences, the tables, the provenance."""
    st.markdown(f"**{plain(study.title)}.** {plain(study.notes)}")
    draw()
    st.markdown("\n".join(f"- {plain(line)}" for line in study.findings))
    for shown in study.tables:
        if shown.rows and not shown.folded:
            st.markdown(f"**{plain(shown.heading)}**")
            table(shown.rows, shown.key, shown.heading)
    for shown in study.tables:
        if shown.rows and shown.folded:
            with st.expander(shown.heading, icon=":material/table:"):
                table(shown.rows, shown.key, shown.heading)
    st.caption(plain(study.provenance))


def _pictured(study: Presented, figure: go.Figure, key: str, alt: str) -> None:
    show_study(study, lambda: picture(figure, key=key, alt=f"{alt}. {study.title}"))


def prediction_tab(state: AppState) -> None:
    st.subheader("Prediction against simulation")
    st.markdown(
        "Shipped scenarios, generated networks and arrivals in bursts, from all local to all spread, "
        "servers and link loaded up to 85 %, predicted and simulated. For your own scenario the results "
        "table of the Simulation page has the column *predicted* beside the simulated mean."
    )
    hint = "The prediction that the map compares with the simulation."
    names, measures = maps.MEASURES.__getitem__, list(maps.MEASURES)
    measure = one_of("Prediction of", measures, "map-measure", hint, "mean_s", format_func=names)
    data = stored_result(studies.PredictionMap)
    alt = "Error of the prediction, per cent, by scenario, placement and load"
    figure = figures.map_figure(data, measure)
    _pictured(maps.presented(data, measure), figure, f"map-{measure}", alt)
    st.page_link("pages/simulation.py", label="Go to the Simulation page", icon=":material/timeline:")


def decisions_tab(state: AppState) -> None:
    st.subheader("Decisions, simulated")
    st.markdown(
        "Does the placement win in simulation? All samples, and generated networks that were not used to "
        "build the solver, over link speeds, link background and load."
    )
    data = stored_result(studies.DecisionStudy)
    show_study(decisions.presented(data), lambda: _ratios_and_heat(data))


def _ratios_and_heat(data: studies.DecisionStudy) -> None:
    answered = [key for key in decisions.QUESTIONS if decisions.compared(data, key)]
    hint = "nona samples from the placement and observes no queue; nona-live also reads the queues."
    key = one_of(
        "Decisions of",
        answered,
        "decisions-question",
        hint,
        format_func=lambda key: decisions.QUESTIONS[key].name,
    )
    left, right = st.columns([3, 2])
    with left:
        alt = "Ratio to the best other scheduler in every cell, with 95 % intervals"
        titled(figures.ratios_figure(data, key), decisions.title(data, key), f"decisions-ratios-{key}", alt)
    with right:
        alt = "Largest ratio by link and background"
        titled(figures.heat_figure(data, key), decisions.heat_title(data, key), f"decisions-heat-{key}", alt)


def network_views_tab(state: AppState) -> None:
    st.subheader("Network views: who sees the network?")
    data = stored_result(studies.NetworkViewsStudy)
    levels = "; ".join(f"**{view.name}** {plain(meaning)}" for view, meaning in VIEW_MEANINGS.items())
    st.markdown(
        f"The {term('network view')} of a scheduler says what it may see of the network: {levels}. The "
        "engines hide whatever lies above it: no decision of N0 to N3 depends on the queue of the link. "
        + REMARKS
    )
    alt = "Mean JCT of each scheduler on an idle and on a loaded link"
    _pictured(network_views.presented(data), figures.network_views_figure(data), "network-views", alt)


REMARKS = (
    "The slides of the talk on Nona (CloudNet 2024) say what other systems know of the network. The table "
    "compares each remark with the view that the system's scheduler has in this app. Two figures show what "
    "it costs not to see the queue: the mean JCT on an idle and on a loaded link, with the same jobs."
)


def remarks_in_short() -> None:
    data = stored_result(studies.NetworkViewsStudy)
    st.caption(plain(network_views.planned_text(data)))
    st.markdown(REMARKS)
    for shown in network_views.presented(data).tables:
        if shown.key != "network-views":
            table(shown.rows, shown.key, shown.heading)


def split_tab(state: AppState) -> None:
    st.subheader("Split or batch?")
    st.markdown(
        "Two models on two GPUs, each of which can hold either. AlpaServe (OSDI 2023) shows that both models "
        "cut in two stages over both GPUs wait half as long as with a GPU each. Here are its formulas, and "
        "the same question for GPUs that take queries in batches."
    )
    data = stored_result(studies.SplitStudy)
    alt = "Mean JCT of four arrangements of two models on two GPUs, case by case"
    _pictured(split.presented(data), split.split_figure(data), "split-or-batch", alt)
    st.subheader("GPUs that batch, measured and simulated")
    runs = _measured_batches()
    st.markdown(
        f"**{plain(batches.measured_finding(runs))}.** The same queries at the same instants, with the times "
        "of steps that were measured alone before; nothing is fitted to the runs."
    )
    alt = "Simulated over measured mean and 99th percentile of every run"
    picture(batches.measured_figure(runs), key="measured-batches", alt=alt)
    table(batches.MEASURED.of(runs), "measured-batches-table", "Each measured run beside its simulation")
    st.caption(plain(batches.MEASURED_SOURCE))


@st.cache_resource(show_spinner="Simulating the measured queries")
def _measured_batches() -> tuple[studies.MeasuredBatches, ...]:
    return beside_measured()


SCHEDULERS_KEY = "paper-schedulers"
# Those that are drawn until others are chosen: all in one chart would hide each other.
DRAWN = ("nona", "nona-live", "least-loaded", "local", "random", "spread", "opportunistic", "spark-fair")


def paper_tab(state: AppState) -> None:
    st.subheader("The paper's evaluation, repeated")
    data = stored_result(studies.PaperStudy)
    show_study(paper.presented(data), lambda: _paper_charts(state, data))


def _paper_charts(state: AppState, data: studies.PaperStudy) -> None:
    schedulers = next(iter(data.sweeps.values())).schedulers
    hint = "Of the two charts below; the findings and the tables have all of them."
    drawn = kept_schedulers(state, SCHEDULERS_KEY, "Schedulers in the charts", DRAWN, schedulers, hint)
    for (name, report), column in zip(data.sweeps.items(), st.columns(len(data.sweeps)), strict=True):
        with column:
            _ratios(name, report, drawn)
    alt = "Mean JCT over that of nona against the length of runs in overload"
    titled(figures.growth_figure(data), paper.growth_title(data), "paper-growth", alt)


def _ratios(name: str, report: SweepReport, drawn: Sequence[str]) -> None:
    curves = {n: curve for n, curve in report.schedulers.items() if n in drawn}
    if not curves:
        st.caption("No scheduler is chosen.")
        return
    figure = sweep_figure(report.model_copy(update={"schedulers": curves}), f"Ratio to {report.reference}")
    alt = f"Mean JCT over that of nona against background {name}; crosses: edges of stability"
    titled(figure, paper.ratio_title(name, report), f"paper-{name}", alt)


def training_tab(state: AppState) -> None:
    st.subheader("Training policies, compared with Gavel's paper")
    _training()
    st.subheader("Elastic jobs: Pollux, Optimus, Tiresias and others")
    _elastic()
    st.subheader("Elastic jobs on a link that others use too")
    on_link = stored_result(ElasticLinkStudy)
    alt = "Mean JCT of each policy without a link and on two links, with intervals"
    _pictured(elastic.link_presented(on_link), policy_figures.link_figure(on_link), "elastic-link", alt)
    st.subheader("Rates estimated from a few profiles")
    estimated = stored_result(studies.EstimatorStudy)
    figure = policy_figures.estimator_figure(estimated)
    alt = "Mean error of each way of estimating over the share of pairs profiled"
    _pictured(policies.estimator_presented(estimated), figure, "estimator", alt)


def _training() -> None:
    data = stored_result(studies.TrainingStudy)

    def draw() -> None:
        modes = policies.modes_of(data)
        for mode, column in zip(modes, st.columns(len(modes)), strict=True):
            with column:
                figure = policy_figures.training_load_figure(data, mode)
                finding, alt = f"Mean JCT over load, {mode} jobs", "Each policy over jobs per hour"
                titled(figure, finding, f"training-load-{mode}", alt)

    show_study(policies.presented(data), draw)


def _elastic() -> None:
    data = stored_result(ElasticStudy)

    def draw() -> None:
        left, right = st.columns(2)
        alt = "Mean JCT of each policy, with the authors' means"
        with left:
            figure = policy_figures.elastic_load_figure(data)
            titled(figure, "Mean JCT over relative load", "elastic-load", alt)
        with right:
            figure = policy_figures.interference_figure(data)
            titled(figure, "Mean JCT at load 1 over interference", "elastic-interference", alt)

    show_study(elastic.presented(data), draw)
