"""The shipped studies on the Validation page: prediction, decisions, paper, training."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from nona.report.studies.decisions import (
    QUESTIONS,
    cells,
    compared,
    missed_gains,
    networks,
    worst_cases,
)
from nona.report.studies.decisions_text import HOW, heat_title
from nona.report.studies.decisions_text import findings as decisions_findings
from nona.report.studies.decisions_text import provenance as decisions_provenance
from nona.report.studies.decisions_text import title as decisions_title
from nona.report.studies.elastic import (
    avoidance_text,
    costs,
    interference,
    link_notes,
    link_title,
    links,
    loads,
    replay_lines,
    study_notes,
    study_title,
)
from nona.report.studies.elastic import provenance as study_text_provenance
from nona.report.studies.figures import (
    growth_figure,
    heat_figure,
    map_figure,
    network_views_figure,
    ratios_figure,
)
from nona.report.studies.network_views import SOURCE, planned_text, remarks, scenario_text, views
from nona.report.studies.network_views import findings as network_views_findings
from nona.report.studies.network_views import provenance as network_views_provenance
from nona.report.studies.network_views import title as network_views_title
from nona.report.studies.paper import OURS, growth, growth_title, ratio_title
from nona.report.studies.paper import findings as paper_findings
from nona.report.studies.paper import points as paper_points
from nona.report.studies.paper import provenance as paper_provenance
from nona.report.studies.paper import summary as paper_summary
from nona.report.studies.paper import title as paper_title
from nona.report.studies.policy_figures import (
    elastic_load_figure,
    estimator_figure,
    interference_figure,
    link_figure,
    training_load_figure,
)
from nona.report.studies.prediction_map import (
    MEASURES,
    POINTS,
    WHICH,
    findings,
    provenance,
    summary,
    title,
)
from nona.report.studies.split_or_batch import cases as split_cases
from nona.report.studies.split_or_batch import findings as split_findings
from nona.report.studies.split_or_batch import provenance as split_provenance
from nona.report.studies.split_or_batch import split_figure
from nona.report.studies.split_or_batch import theory as split_theory
from nona.report.studies.split_or_batch import title as split_title
from nona.report.studies.training import (
    CLAIMED,
    ESTIMATES,
    RULES,
    WHY,
    estimator_findings,
    estimator_title,
    judged,
    makespans,
    modes_of,
)
from nona.report.studies.training import OURS as STUDY_OURS
from nona.report.studies.training import loads as study_loads
from nona.report.studies.training import provenance as study_provenance
from nona.report.studies.training import title as text_title
from nona.report.sweep_figures import sweep_figure
from nona.results.elastic import ElasticLinkStudy, ElasticStudy
from nona.results.studies import (
    DecisionStudy,
    EstimatorStudy,
    NetworkViewsStudy,
    PaperStudy,
    PredictionMap,
    SplitStudy,
    TrainingStudy,
)
from nona.results.sweeps import SweepReport
from nona.schedulers.network_remarks import VIEW_MEANINGS
from nona.study.shipped import stored_result
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.policy_choice import kept_schedulers
from nona.ui.widgets.results import picture, table
from nona.ui.widgets.terms import term


def prediction_section() -> None:
    """The stored map as a chart with its finding, the findings, and two tables."""
    data = stored_result(PredictionMap)
    st.markdown(WHICH)
    measure = st.segmented_control(
        "Prediction of",
        list(MEASURES),
        default="mean_s",
        format_func=MEASURES.__getitem__,
        key="map-measure",
        help="The prediction that the map compares with the simulation.",
    )
    chosen = measure or "mean_s"
    finding = title(data, chosen)
    st.markdown(f"**{plain(finding)}**")
    picture(
        map_figure(data, chosen),
        key=f"map-{chosen}",
        alt=f"Error of the prediction, per cent, by scenario, placement and load. {finding}",
    )
    for line in findings(data):
        st.markdown(f"- {plain(line)}")
    table(summary(data), "prediction-map", "Points within the bounds, by scenario")
    with st.expander("All points with their intervals", icon=":material/table:"):
        table(POINTS.of(data.points), "prediction-points", "Every point of the map")
    st.caption(plain(provenance(data)))


def decisions_section() -> None:
    """The stored study: two charts with their findings, the findings in words, and tables."""
    data = stored_result(DecisionStudy)
    st.markdown(HOW)
    answered = [key for key in QUESTIONS if compared(data, key)]
    chosen = st.segmented_control(
        "Decisions of",
        answered,
        default=answered[0],
        format_func=lambda key: QUESTIONS[key].name,
        key="decisions-question",
        help="nona samples from the placement and observes no queue; nona-live also reads the queues.",
    )
    key = chosen or answered[0]
    left, right = st.columns([3, 2])
    with left:
        finding = decisions_title(data, key)
        st.markdown(f"**{plain(finding)}**")
        picture(
            ratios_figure(data, key),
            key=f"decisions-ratios-{key}",
            alt=f"Ratio to the best other scheduler in every cell, with 95 % intervals. {finding}",
        )
    with right:
        finding = heat_title(data, key)
        st.markdown(f"**{plain(finding)}**")
        picture(
            heat_figure(data, key),
            key=f"decisions-heat-{key}",
            alt=f"Largest ratio by link and background. {finding}",
        )
    for line in decisions_findings(data):
        st.markdown(f"- {plain(line)}")
    st.markdown(f"**{QUESTIONS[key].name}: the largest ratios**")
    table(
        worst_cases(data, key),
        f"decisions-worst-{key}",
        f"The cells with the largest ratios of {QUESTIONS[key].name}",
    )
    if missed := missed_gains(data):
        st.markdown("**nona: largest gains that the bound leaves open**")
        table(
            missed,
            "decisions-missed",
            "Cells in which the bound leaves the largest gain that nona does not reach",
        )
    st.markdown("**By network**")
    table(networks(data), "decisions-networks", "Every network: goals kept, gaps, seconds")
    with st.expander("All cells with every scheduler", icon=":material/table:"):
        table(cells(data), "decisions-cells", "Every cell of the study")
    st.caption(plain(decisions_provenance(data)))


def network_views_section() -> None:
    """The shipped results: the remarks with their figures, the chart, the findings, every scheduler."""
    data = stored_result(NetworkViewsStudy)
    finding = network_views_title(data)
    levels = "; ".join(f"**{view.name}** {plain(meaning)}" for view, meaning in VIEW_MEANINGS.items())
    st.markdown(
        f"The {term('network view')} of a scheduler says what it may see of the network: {levels}. The "
        "engines hide whatever lies above it: no decision of N0 to N3 depends on the queue of the link."
    )
    remarks_explained()
    st.markdown(f"**{plain(finding)}.** {plain(scenario_text(data))}")
    remarks_table()
    picture(
        network_views_figure(data),
        key="network-views",
        alt=f"Mean JCT of each scheduler on an idle and on a loaded link. {finding}",
    )
    for line in network_views_findings(data):
        st.markdown(f"- {plain(line)}")
    with st.expander("Every scheduler with its intervals", icon=":material/table:"):
        table(views(data), "network-views", "Every scheduler on an idle and on a loaded link")
    st.caption(plain(network_views_provenance(data)))


def remarks_explained() -> None:
    """Explain what schedulers that draw from a solved placement know, and whose remarks the table has."""
    st.caption(plain(planned_text(stored_result(NetworkViewsStudy))))
    st.markdown(
        "The slides of the talk on Nona (CloudNet 2024) say what other systems know of the network. The "
        "table compares each remark with the view that the system's scheduler has in this app. Two figures "
        "show what it costs not to see the queue: the mean JCT on an idle and on a loaded link, with the "
        "same jobs."
    )


def remarks_table() -> None:
    """The slides' remarks with the two figures, and what the systems' sources say."""
    rows = remarks(stored_result(NetworkViewsStudy))
    if not rows:
        return
    table(
        rows.without(SOURCE),
        "network-remarks",
        "The slides' remarks on the network, and the two figures",
    )
    with st.expander("What the systems' sources say", icon=":material/menu_book:"):
        said = rows.select("system", "the slides say", "the remark is", SOURCE)
        table(said, "network-sources", "The slides' remarks, and what the systems' sources say")
        st.caption("Recollected: from memory of the paper.")


def split_section() -> None:
    """The shipped cases: the chart with its finding, the findings, and the table beside the theory."""
    data = stored_result(SplitStudy)
    finding = split_title(data)
    st.markdown(f"**{plain(finding)}.**")
    picture(
        split_figure(data),
        key="split-or-batch",
        alt=f"Mean JCT of four arrangements of two models on two GPUs, case by case. {finding}",
    )
    for line in split_findings(data):
        st.markdown(f"- {plain(line)}")
    table(split_cases(data), "split-cases", "Mean JCT of each arrangement in every case")
    st.markdown("**Without batches, by theory**")
    table(split_theory(data), "split-theory", "What splitting gains and may cost without batches")
    st.caption(plain(split_provenance(data)))


SCHEDULERS_KEY = "paper-schedulers"
# Those that are drawn until others are chosen: all in one chart would hide each other.
DRAWN = ("nona", "nona-live", "least-loaded", "local", "random", "spread", "opportunistic", "spark-fair")


def paper_section(state: AppState) -> None:
    """The shipped results: findings, ratio against background with the edges, growth in overload, tables."""
    data = stored_result(PaperStudy)
    st.markdown(f"**{plain(paper_title(data))}.** {plain(OURS)}")
    drawn = _drawn(state, data)
    for (name, report), column in zip(data.sweeps.items(), st.columns(len(data.sweeps)), strict=True):
        with column:
            _ratios(name, report, drawn)
    finding = growth_title(data)
    st.markdown(f"**{plain(finding)}**")
    picture(
        growth_figure(data),
        key="paper-growth",
        alt=f"Mean JCT over that of nona against the length of runs in overload. {finding}",
    )
    with st.expander("What was found", icon=":material/lightbulb:"):
        for line in paper_findings(data):
            st.markdown(f"- {plain(line)}")
    table(paper_summary(data), "paper", "Every scheduler's edges and its ratios to nona")
    with st.expander("All points with their intervals", icon=":material/table:"):
        table(paper_points(data), "paper-points", "Every simulated point of the study")
        table(growth(data), "paper-overload", "Every run in overload")
    st.caption(plain(paper_provenance(data)))


def _drawn(state: AppState, data: PaperStudy) -> tuple[str, ...]:
    """The schedulers of the two charts, which the reader chooses."""
    schedulers = next(iter(data.sweeps.values())).schedulers
    hint = "Of the two charts below; the findings and the tables have all of them."
    return kept_schedulers(state, SCHEDULERS_KEY, "Schedulers in the charts", DRAWN, schedulers, hint)


def _ratios(name: str, report: SweepReport, drawn: Sequence[str]) -> None:
    finding = ratio_title(name, report)
    st.markdown(f"**{plain(finding)}**")
    curves = {n: curve for n, curve in report.schedulers.items() if n in drawn}
    if not curves:
        st.caption("No scheduler is chosen.")
        return
    picture(
        sweep_figure(report.model_copy(update={"schedulers": curves}), f"Ratio to {report.reference}"),
        key=f"paper-{name}",
        alt=f"Mean JCT over that of nona against background {name}; crosses: edges of stability. {finding}",
    )


def _elastic_section() -> None:
    """Mean JCT over load and interference, the authors' figures, the replays."""
    data = stored_result(ElasticStudy)
    st.subheader("Elastic jobs: Pollux, Optimus, Tiresias and others")
    finding = study_title(data)
    st.markdown(f"**{plain(finding)}.** {plain(avoidance_text(data))}")
    left, right = st.columns(2)
    with left:
        st.markdown("**Mean JCT over relative load**")
        alt = f"Mean JCT of each policy over relative load, with the authors' means. {finding}"
        picture(elastic_load_figure(data), key="elastic-load", alt=alt)
    with right:
        st.markdown("**Mean JCT at load 1 over interference**")
        alt = f"Mean JCT of each policy over interference, with the authors' means. {avoidance_text(data)}"
        picture(interference_figure(data), key="elastic-interference", alt=alt)
    for line in replay_lines(data.points, data.workloads):
        st.markdown(f"- {plain(line)}")
    with st.expander("All points of the study of elastic jobs", icon=":material/table:"):
        table(loads(data), "elastic-load-points", "Mean JCT over relative load")
        table(
            interference(data),
            "elastic-interference-points",
            "Mean JCT at load 1 over interference",
        )
    st.caption(plain(f"{study_notes(data)} {study_text_provenance(data)}"))
    _link()


def _link() -> None:
    """Draw the cost of not seeing the link."""
    data = stored_result(ElasticLinkStudy)
    finding = link_title(data)
    st.markdown("**Mean JCT on a link that others use too**")
    st.markdown(f"{plain(finding)}.")
    alt = f"Mean JCT of each policy without a link and on two links, with intervals over workloads. {finding}"
    picture(link_figure(data), key="elastic-link", alt=alt)
    with st.expander("All points of elastic jobs on a link", icon=":material/table:"):
        table(links(data), "elastic-link-points", "Mean JCT of each policy on each link")
        alt = "JCT against that with the link in sight, and what the link costs"
        table(costs(data), "elastic-link-costs", alt)
    st.caption(plain(f"{link_notes(data)} {study_text_provenance(data)}"))


def training_section() -> None:
    """The shipped results: what the paper states and what was found, JCT over load, makespan, estimator."""
    data = stored_result(TrainingStudy)
    st.markdown(f"**{plain(text_title(data))}.** {plain(STUDY_OURS)}")
    table(CLAIMED.of(judged(data)), "training-claims", "What the paper states, and what was found")
    st.caption(plain(f"{RULES} {WHY}"))
    modes = modes_of(data)
    for mode, column in zip(modes, st.columns(len(modes)), strict=True):
        with column:
            st.markdown(f"**Mean JCT over load, {mode} jobs**")
            alt = (
                f"Mean JCT of each policy over the jobs that arrive per hour, {mode} jobs. {text_title(data)}"
            )
            picture(training_load_figure(data, mode), key=f"training-load-{mode}", alt=alt)
    with st.expander("All points with their intervals", icon=":material/table:"):
        _points(data, modes)
    st.caption(plain(study_provenance(data)))
    _elastic_section()
    _estimator()


def _points(data: TrainingStudy, modes: list[str]) -> None:
    for mode in modes:
        st.markdown(f"**{mode} jobs**")
        table(
            study_loads(data, mode),
            f"training-jct-{mode}",
            f"Mean JCT over load, {mode} jobs",
        )
        table(
            makespans(data, mode),
            f"training-makespan-{mode}",
            f"All jobs at once, {mode}: makespan of each policy",
        )


def _estimator() -> None:
    data = stored_result(EstimatorStudy)
    st.subheader("Rates estimated from a few profiles")
    st.markdown(
        "A job's rate next to another job on one GPU is estimated from the pairs that were profiled: the row "
        "is completed, and the most similar known model's row is used."
    )
    finding = estimator_title(data)
    st.markdown(f"**{plain(finding)}**")
    alt = f"Mean error of each way of estimating over the share of pairs profiled, for a new model. {finding}"
    picture(estimator_figure(data), key="estimator", alt=alt)
    for line in estimator_findings(data):
        st.markdown(f"- {plain(line)}")
    with st.expander("All points of the estimator", icon=":material/table:"):
        table(ESTIMATES.of(data.points), "estimator-points", "Error of each way of estimating")
