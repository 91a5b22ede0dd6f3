"""Tabs of the Evidence page with studies, and what other pages show of them.

The one module here that draws with Streamlit: pages, which stand beside the package too, arrange it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import plotly.graph_objects as go
import streamlit as st

from evidence import measured_batches, measured_language
from evidence.agreement import EFFORTS
from evidence.known_systems import known_systems
from evidence.network_remarks import REMARKED, known_remarks
from evidence.policy_results import (
    ElasticStudy,
    ServerlessStudy,
    TrainingStudy,
)
from evidence.presented import Presented
from evidence.published_latencies import WEAK_POINTS, ValidationSummary, reading, validation_report
from evidence.reports import (
    decisions,
    elastic,
    paper,
    serverless,
    serverless_tables,
    theory,
    training,
    validation,
)
from evidence.reports import prediction as maps
from evidence.reports.decision_figures import heat_figure, ratios_figure
from evidence.results import (
    DecisionStudy,
    MeasuredBatches,
    PaperStudy,
    TheoryProgress,
    TheoryResult,
    TheoryRow,
    TheorySummary,
)
from evidence.theory_job import EffortAsked
from nona.app.guide import sections
from nona.app.jobs.registry import AppJob
from nona.app.layout.equivalents import equivalent
from nona.app.pages.run_page import PageRun, RunPage, run_area
from nona.app.pages.serverless.comparisons import over_charts
from nona.app.pages.serverless.results import choose_one
from nona.app.session.state import AppState, KeptRun
from nona.app.widgets.fields import one_of, plain
from nona.app.widgets.policy_choice import kept_schedulers
from nona.app.widgets.results import chart, picture, table, tiles, titled
from nona.app.widgets.terms import term
from nona.core.tables import share_text
from nona.core.units import duration
from nona.language.report.tables import HELP, MEASURES
from nona.queries.schedulers.base import VIEW_MEANINGS
from nona.queries.study_results import PredictionMap
from nona.queries.sweeps.figures import sweep_figure
from nona.queries.sweeps.results import SweepReport
from nona.queries.workflows.shipped import shipped_path, stored_result
from nona.serverless.policies.registry import get_policy


@contextmanager
def _study(study: Presented) -> Iterator[None]:
    """The finding, what is drawn meanwhile, the sentences, the tables, the provenance."""
    st.markdown(f"**{plain(study.title)}.** {plain(study.notes)}")
    yield
    st.markdown("\n".join(f"- {plain(line)}" for line in study.findings))
    for shown in sorted(study.tables, key=lambda shown: shown.folded):
        if shown.rows and shown.folded:
            with st.expander(shown.heading, icon=":material/table:"):
                table(shown.rows, shown.key, shown.heading)
        elif shown.rows:
            st.markdown(f"**{plain(shown.heading)}**")
            table(shown.rows, shown.key, shown.heading)
    st.caption(plain(study.provenance))


def _pictured(study: Presented, figure: go.Figure, key: str, alt: str) -> None:
    with _study(study):
        picture(figure, key=key, alt=f"{alt}. {study.title}")


def _prediction() -> None:
    st.subheader("Formula beside simulation")
    st.markdown(
        "Shipped scenarios, generated networks and arrivals in bursts, from all local to all spread, "
        "servers and link loaded up to 85 %, predicted and simulated. For your own scenario the results "
        "table of the Simulation page has the column *predicted* beside the simulated mean."
    )
    data = stored_result(PredictionMap)
    alt = "Error of the formula, per cent, by scenario, placement and load"
    _pictured(maps.presented(data), maps.map_figure(data), "map", alt)
    st.page_link("pages/simulation.py", label="Go to the Simulation page", icon=":material/timeline:")


def _decisions() -> None:
    st.subheader("Decisions, simulated")
    st.markdown(
        "Does the placement win in simulation? All samples, and generated networks that were not used to "
        "build the search, over link speeds, link background and load."
    )
    data = stored_result(DecisionStudy)
    with _study(decisions.presented(data)):
        answered = [key for key in decisions.QUESTIONS if decisions.compared(data, key)]
        names = {key: decisions.QUESTIONS[key].name for key in answered}
        hint = "nona samples from the placement and observes no queue; nona-live also reads the queues."
        key = one_of("Decisions of", answered, "decisions-question", hint, format_func=names.__getitem__)
        left, right = st.columns([3, 2])
        with left:
            alt = "Ratio to the best other scheduler in every cell, with 95 % intervals"
            titled(ratios_figure(data, key), decisions.title(data, key), f"decisions-ratios-{key}", alt)
        with right:
            alt = "Largest ratio by link and background"
            titled(heat_figure(data, key), decisions.heat_title(data, key), f"decisions-heat-{key}", alt)


def _network_views(state: AppState) -> None:
    st.subheader("Network views: who sees the network?")
    levels = "; ".join(f"**{view.name}** {plain(meaning)}" for view, meaning in VIEW_MEANINGS.items())
    st.markdown(
        f"The {term('network view')} of a scheduler says what it may see of the network: {levels}. The "
        "engines hide whatever lies above it: no decision of N0 to N3 depends on the queue of the link."
    )
    network_remarks()


def network_remarks() -> None:
    """What the slides say of other systems, beside the views of their schedulers here."""
    st.markdown(
        "The slides of the talk on Nona (CloudNet 2024) say what other systems know of the network. The "
        "table compares each remark with the view that the system's scheduler has in this app."
    )
    table(REMARKED.fill(known_remarks()), "network-remarks", "What the slides remark, and what sources say")


@st.cache_resource(show_spinner="Simulating the measured queries")
def _measured_batches() -> tuple[MeasuredBatches, ...]:
    return measured_batches.beside_measured()


@st.cache_resource(show_spinner="Simulating the measured requests")
def _measured_run() -> measured_language.MeasuredRun:
    return measured_language.beside_vllm()


@st.cache_resource(show_spinner="Simulating three distributions of answers")
def _formula_points() -> tuple[measured_language.FormulaPoint, ...]:
    return measured_language.beside_formula()


def _measured_queries() -> None:
    st.subheader("GPUs that batch, measured and simulated")
    runs = _measured_batches()
    st.markdown(
        f"**{plain(measured_batches.measured_finding(runs))}.** The same queries at the same instants, with "
        "the times of steps that were measured alone before; nothing is fitted to the runs."
    )
    alt = "Simulated over measured mean and 99th percentile of every run"
    picture(measured_batches.measured_figure(runs), key="measured-batches", alt=alt)
    alt = "Each measured run beside its simulation"
    table(measured_batches.MEASURED.fill(runs), "measured-batches-table", alt)
    st.caption(plain(measured_batches.MEASURED_SOURCE))


def _measured_requests() -> None:
    st.subheader("vLLM, measured and simulated")
    run = _measured_run()
    st.markdown(
        f"**{plain(measured_language.measured_finding(run))}.** The same requests at the same instants, with "
        "the step times that ship for this card; nothing is fitted to this run."
    )
    with st.grid(3, min_column_width=260):
        for measure in run.requests:
            title = f"{MEASURES[measure]}, each request".capitalize()
            alt = f"Measured against simulated. {HELP[measure]}"
            chart(measured_language.requests_figure(run, measure), title, f"measured-{measure}", alt)
    alt = "Statistics of the measured run beside the simulated one"
    table(measured_language.BESIDE.fill(run.rows), "vllm-measured", alt)
    st.caption(plain(measured_language.SOURCE))
    st.info(plain(measured_language.OPEN_QUESTIONS), icon=":material/help:")


def _steps() -> None:
    st.subheader("Steps of language models, measured and shipped")
    steps = measured_language.beside_steps()
    st.markdown(
        f"**{plain(measured_language.steps_finding(steps))}.** The constants were fitted to another "
        "project's table."
    )
    alt = "Measured steps beside the shipped constants"
    table(measured_language.STEPS.fill(steps), "steps-measured", alt)
    st.caption(plain(measured_language.STEPS_SOURCE))


def _time_per_token() -> None:
    st.subheader("Language models: the formula and the simulation")
    st.markdown(
        "The mean time per output token has a closed form, in which the lengths of answers count by their "
        "mean and by the tokens that they read. One H100 with Llama 3.1 8B, prompts of 512 tokens, answers "
        "of 128 on average in three distributions."
    )
    points = _formula_points()
    chart(
        measured_language.formula_figure(points),
        measured_language.formula_finding(points),
        "language-formula-chart",
        "Curves by formula, points simulated",
    )
    alt = "The formula beside simulations, by load"
    table(measured_language.POINTS.fill(points), "language-formula-table", alt)


def _theory_live(job: AppJob) -> None:
    rows = TheoryProgress.from_json(job.live).rows
    if rows:
        st.caption(f"So far: {theory.theory_sentence(rows)}")
        _theory_table(rows, 280, "theory-live")


def _theory_result(data: TheoryResult) -> None:
    rows = data.rows
    st.markdown(f"**{theory.theory_sentence(rows)}**")
    _theory_tiles(theory.theory_summary(rows))
    st.caption(
        f"{data.replications} independent runs each, {plain(data.effort)} ones, {data.level:.1%} "
        f"intervals, on the engine {plain(data.engine)} in {duration(data.seconds)}. At this level "
        "one row in a thousand of a correct simulator would differ by chance."
    )
    alt = "Error of each simulated mean against theory with its interval"
    picture(theory.theory_figure(rows), "theory-errors", alt)
    _theory_table(rows, 480)


def _theory_tiles(summary: TheorySummary) -> None:
    worst = f"{summary.worst:.2f} half intervals"
    tiles(
        [
            ("Mean error", f"{summary.mean_error:.1%}", "Mean of |simulated / theory − 1|."),
            ("Half interval", f"{summary.half_width:.1%}", "Median of the rows: smaller errors may hide."),
            ("Worst row", worst, "The largest error in its own half interval; above 1 it does not agree."),
        ]
    )


def _theory_table(rows: Sequence[TheoryRow], height: int, key: str = "theory") -> None:
    table(theory.THEORY.fill(rows), key, "Theory against simulation, system by system", height=height)


def _theory(state: AppState) -> None:
    st.subheader("Theory against simulation")
    st.markdown(
        "Completion times come from a simulator. Here it runs systems with a mean completion time known "
        "from queueing theory: single queues, batches, priorities, networks of queues, fork-join, the power "
        "of choices, the link in both disciplines. Each interval should contain the theoretical mean, and be "
        "narrow enough to exclude neighbouring theories."
    )
    hint = "Longer runs have narrower intervals: they notice smaller errors."
    effort = one_of("Length of the runs", list(EFFORTS), "effort", hint)
    rows = [row for system in known_systems() for row in theory.theory_rows(system)]
    run_area(
        state,
        PageRun(
            kind="validate",
            label="Simulate the known systems",
            result_type=TheoryResult,
            live=_theory_live,
            answer=lambda state, result: _theory_result(result),
            before=lambda: _theory_table(rows, 420),
            request=EffortAsked(effort=effort),
        ),
    )


SCHEDULERS_KEY = "paper-schedulers"
# Those that are drawn until others are chosen: all in one chart would hide each other.
DRAWN = ("nona", "nona-live", "least-loaded", "local", "random", "spread", "opportunistic", "spark-fair")


def _paper(state: AppState) -> None:
    st.subheader("The paper's evaluation, repeated")
    data = stored_result(PaperStudy)
    schedulers = next(iter(data.sweeps.values())).schedulers
    hint = "Of the two charts below; the findings and the tables have all of them."
    with _study(paper.presented(data)):
        drawn = kept_schedulers(state, SCHEDULERS_KEY, "Schedulers in the charts", DRAWN, schedulers, hint)
        for (name, report), column in zip(data.sweeps.items(), st.columns(len(data.sweeps)), strict=True):
            with column:
                _ratios(name, report, drawn)
        alt = "Mean JCT over that of nona against the length of runs in overload"
        titled(paper.growth_figure(data), paper.growth_title(data), "paper-growth", alt)


def _ratios(name: str, report: SweepReport, drawn: Sequence[str]) -> None:
    curves = {n: curve for n, curve in report.schedulers.items() if n in drawn}
    if not curves:
        st.caption("No scheduler is chosen.")
        return
    figure = sweep_figure(report.model_copy(update={"schedulers": curves}), f"Ratio to {report.reference}")
    alt = f"Mean JCT over that of nona against background {name}; crosses: edges of stability"
    titled(figure, paper.ratio_title(name, report), f"paper-{name}", alt)


def _training(state: AppState) -> None:
    st.subheader("Training policies, compared with Gavel's paper")
    data = stored_result(TrainingStudy)
    with _study(training.presented(data)):
        modes = training.modes_of(data)
        for mode, column in zip(modes, st.columns(len(modes)), strict=True):
            with column:
                figure, alt = training.training_load_figure(data, mode), "Each policy over jobs per hour"
                titled(figure, f"Mean JCT over load, {mode} jobs", f"training-load-{mode}", alt)
    st.subheader("Elastic jobs: Pollux, Optimus, Tiresias and others")
    scaled = stored_result(ElasticStudy)
    alt = "Mean JCT of each policy, with the authors' means"
    with _study(elastic.presented(scaled)):
        left, right = st.columns(2)
        with left:
            figure = elastic.elastic_load_figure(scaled)
            titled(figure, "Mean JCT over relative load", "elastic-load", alt)
        with right:
            figure = elastic.interference_figure(scaled)
            titled(figure, "Mean JCT at load 1 over interference", "elastic-interference", alt)


def _slides(state: AppState) -> None:
    """The shipped study; where it is missing, how to make it."""
    if not shipped_path("serverless").is_file():
        st.caption("This copy lacks the study's results. The command below computes them.")
        equivalent(state, "study", "serverless", "--json", key="slides", scenario=False)
        return
    data = stored_result(ServerlessStudy)
    with _study(serverless.presented(data)):
        _slides_charts(data)
    equivalent(state, "study", "serverless", "--shipped", key="slides", scenario=False)


def _slides_charts(data: ServerlessStudy) -> None:
    esg = get_policy("esg")
    st.caption(plain(f"{esg.title} is the policy that the slides propose ({esg.source}). {esg.summary}"))
    alt = "SLOs kept by every policy in each of the slides' settings, with its cost over ESG's"
    picture(serverless_tables.settings_figure(data), "study-settings", f"{alt}. {serverless.title(data)}")
    st.caption("Numbers in the bars: cost per call over that of esg.")
    with st.grid(2, min_column_width=360):
        alt = "Configuration misses of Orion and Aquatope against those of the slides"
        chart(serverless_tables.misses_figure(data), serverless.miss_title(data), "study-misses", alt)
        alt = "Orion's share of SLOs kept by the cut-off of its search"
        chart(serverless_tables.cutoff_figure(data), serverless.cutoff_title(data), "study-cutoff", alt)
    _loads(data)
    alt = "Share of SLOs kept by each policy"
    chart(
        serverless_tables.sharing_figure(data),
        "SLOs kept under each way of sharing the GPUs",
        "study-ways",
        alt,
    )


def _loads(data: ServerlessStudy) -> None:
    setting = choose_one("Setting ", list(data.curves), "study-load-setting", "SLO and base load.")
    over_charts(data.curves[setting], "study-over")


def _validation_tiles(summary: ValidationSummary) -> None:
    tiles(
        [
            ("Published latencies", str(summary.rows), "Those that count: no constant was read off them."),
            ("MAPE", share_text(summary.mape, 1), "Mean of |predicted − published| / published."),
            ("Bias", f"{summary.bias:.2f}", "Mean of published / predicted; above 1: too fast."),
            ("Spearman", f"{summary.spearman:.3f}", "Rank correlation: is the slower predicted slower?"),
            ("log σ", f"{summary.log_sigma:.2f}", "Standard deviation of ln(published / predicted)."),
        ]
    )


def _validation_finding(summary: ValidationSummary) -> str:
    """Judge the formula by the published latencies, in a sentence.

    >>> _validation_finding(ValidationSummary("all", 32, 0.261, 1.18, 0.968, 0.35))
    'Off by 26.1 % on average, too fast by 18 %; the order is right (rank correlation 0.97)'
    """
    side = "too fast" if summary.bias > 1 else "too slow"
    order = (
        "is right" if summary.spearman > 0.9 else "is roughly right" if summary.spearman > 0.7 else "is not"
    )
    return (
        f"Off by {share_text(summary.mape, 1)} on average, {side} by {share_text(abs(summary.bias - 1))}; "
        f"the order {order} (rank correlation {summary.spearman:.2f})"
    )


def times_tab(state: AppState) -> None:
    st.caption(
        "Modelled times come from a formula whose constants were fitted to measured networks. Here they are "
        "compared with published latencies of whole networks at batch 1. The fit saw these rows too; the "
        "errors with each network left out are below."
    )
    report = validation_report()
    _validation_tiles(report.overall)
    st.markdown(reading())
    left, right = st.columns([3, 2])
    with left:
        st.subheader("Predicted against published")
        finding = _validation_finding(report.overall)
        alt = "Predicted over published latency, logarithmic, with the line of equality"
        titled(validation.validation_figure(report.rows), finding, "validation", alt)
    with right:
        st.subheader("Where it is weak")
        st.markdown(WEAK_POINTS)
    st.subheader("Every latency, with its source")
    table(
        validation.LATENCIES.fill(report.rows),
        "latencies",
        "Every published latency against the predicted one, with its source",
        "validation",
        height=480,
    )
    st.caption(
        "counted: in the figures on top. in-sample: a constant was read off this very row, so it proves "
        "little. shown: not comparable, for the reason in its note."
    )
    st.subheader("By group")
    summaries = [*report.groups, report.tensorrt, report.overall]
    table(validation.GROUPS.fill(summaries), "groups", "How well each group is predicted")
    st.subheader("MIG slices")
    st.caption("How many times slower a slice is than its whole device.")
    table(validation.SLICES.fill(report.slices), "slices", "Slowdown of slices, published and predicted")
    _steps()
    for section in sections():
        if section.name in ("provenance", "sources"):
            st.subheader(section.title)
            st.markdown(section.text)


def with_advice(page: RunPage[KeptRun]) -> RunPage[KeptRun]:
    """Return the page with a line of the study of decisions below its settings."""

    def settings(state: AppState) -> None:
        page.fields(state)
        st.caption("If queues are visible use nona-live, else nona. [Evidence](evidence)")

    return replace(page, fields=settings)


def _of_queries(key: str) -> bool:
    return one_of("Of", ["queries", "language models"], key, "Which simulator it is about.") == "queries"


def predictions_tab(state: AppState) -> None:
    """The formulas beside simulations, and whether what they propose wins."""
    if _of_queries("predictions-of"):
        _prediction()
        _decisions()
    else:
        _time_per_token()


def simulator_tab(state: AppState) -> None:
    """The simulator beside queueing theory and measured runs."""
    if _of_queries("simulator-of"):
        _theory(state)
        _measured_queries()
    else:
        _measured_requests()


CLAIMS: Mapping[str, Callable[[AppState], None]] = {
    "the Nona paper": _paper,
    "the slides on Nona": _network_views,
    "the slides on ESG": _slides,
    "Gavel, Pollux and others": _training,
}


def claims_tab(state: AppState) -> None:
    """What others published, repeated, one source at a time."""
    hint = "Each was simulated with scenarios of its own: nothing here is of your scenario or of your runs."
    CLAIMS[one_of("Claims of", list(CLAIMS), "claims-of", hint)](state)
