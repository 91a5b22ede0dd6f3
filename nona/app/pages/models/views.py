"""The views of a model: operators, contraction step by step, tasks, where they run, gains, tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from nona.app.models import graph_views
from nona.app.models.loading import LoadedModel, load_model, model_names
from nona.app.pages.models import gain as models_gain
from nona.app.session.page_list import page_file
from nona.app.session.state import AppState
from nona.app.widgets.components import Node, colour, draw, el
from nona.app.widgets.downloads import download_button
from nona.app.widgets.fields import one_of, plain, show_error
from nona.app.widgets.results import picture, table, tiles
from nona.core.errors import NonaError
from nona.core.figures import time_by_kind_figure
from nona.core.units import format_count, format_number, format_size, format_time
from nona.models import report as report_models
from nona.models.cost.costed import CostedGraph
from nona.models.graph.node_link import to_node_link
from nona.models.report import inspection, provenance_text
from nona.models.times_report import given_text, no_verdict
from nona.queries.placement.enumeration import IdleSpan
from nona.queries.placement.results import SolvedPlacement
from nona.queries.report.placement.figures import servers_of
from nona.scenario.lookup import safe_name
from nona.scenario.sample_files import description

OPERATORS, STEPS, TASK_VIEW, WHERE, GAIN, TABLES = VIEW_NAMES = (
    "Operators",
    "Step by step",
    "Tasks",
    "Where they run",
    "What it could gain",
    "Tables",
)
VIEW_KEY = "model-view"


def pick_view() -> str:
    """Return the switch between the views; the one that is shown."""
    hint = "The graph as in the file, its contraction, the remaining tasks, and where they run."
    return one_of("Show", VIEW_NAMES, VIEW_KEY, hint, label_visibility="collapsed")


def show_view(state: AppState, loaded: LoadedModel, device: str, view: str) -> None:
    """Draw one view of the session's model; ``device`` is the one whose times it shows."""
    if view == OPERATORS:
        graph_views.graph_browser(state, loaded, graph_views.MODEL, partial(model_facts, state, loaded))
        return
    if view == TABLES:
        _tables(state, loaded)
        return
    try:
        spans = models_gain.idle_of(state, loaded)
    except NonaError as error:
        show_error(error)
        return
    about = partial(models_gain.headline, state, loaded, spans)
    if view == STEPS:
        graph_views.contraction_player(state, loaded, about)
    elif view == TASK_VIEW:
        graph_views.graph_browser(state, loaded, graph_views.TASKS, about)
    elif view == WHERE:
        _where(state, loaded, about)
    else:
        about()
        _gain(state, loaded, device, spans)


def _gain(state: AppState, loaded: LoadedModel, device: str, spans: Sequence[IdleSpan]) -> None:
    if not spans:
        st.info(
            "Nothing is left to distribute: the tasks form a chain, so a query stays on one server. A "
            "cluster then serves more queries in parallel, not faster ones.",
            icon=":material/linear_scale:",
        )
        return
    st.subheader("Left to distribute")
    models_gain.subgraphs_with_counts(state, loaded, device, spans)


def _where(state: AppState, loaded: LoadedModel, about: Callable[[], None]) -> None:
    """Draw the tasks in the colours of the servers on which the solved placement runs them most often."""
    solved = state.result_of("place", SolvedPlacement)
    rows = state.scenario.workload
    label = next(
        (n for n, r in zip(state.scenario.labels, rows, strict=True) if r.model == state.model), None
    )
    if solved is None or label is None or label not in solved.nona.models:
        why = "No query of this model is in the scenario." if label is None else "It is not solved yet."
        st.info(f"A placement shows where the tasks run. {why}", icon=":material/hub:")
        st.page_link(page_file("placement"), label="Go to Placement", icon=":material/hub:")
        return
    homes: dict[str, str] = {}
    for subgraph in solved.nona.models[label].subgraphs:
        often = max(subgraph.configurations, key=lambda c: c.probability)
        homes |= {task: name for name, tasks in servers_of(often, None, None) for task in tasks}
    stale = " of the scenario as it was before the last changes" if state.is_stale("place") else ""
    st.caption(
        f"Colours are servers in the most frequent configuration of each sub-graph, by the placement{stale}; "
        "*Placement* has the others with their probabilities."
    )
    graph_views.graph_browser(state, loaded, graph_views.HOMES, about, homes)


def _tables(state: AppState, loaded: LoadedModel) -> None:
    costed, contracted = loaded.prepared.costed[0], loaded.prepared.contracted
    st.subheader("Operators")
    table(report_models.operators(costed), "operators", "Work and time of every operator", height=400)
    times_origin(costed)
    st.subheader("Time by kind")
    picture(time_by_kind_figure(time_by_kind(costed)), key="kinds", alt="Time by kind of operator")
    st.subheader("Steps of the contraction")
    if not contracted.steps:
        st.caption("None: no edge can be contracted by this rule.")
        return
    alt = "Every contraction step and why it is allowed"
    table(report_models.steps(contracted), "steps", alt, height=400)


def pick_beside(state: AppState, view: str) -> str | None:
    """Return the choice of another model to be drawn beside the session's own; ``None`` without one."""
    if view not in (OPERATORS, TASK_VIEW):
        return None
    return st.selectbox(
        "Beside",
        [name for name in model_names(state) if name != state.model],
        None,
        key="model-beside",
        placeholder="Beside another model",
        persist_state="session",
        width=240,
        label_visibility="collapsed",
        help="Draws another model beside this one, with the figures of both.",
    )


def show_both(state: AppState, loaded: LoadedModel, other: str, device: str, view: str) -> None:
    """Draw the session's model and another one side by side, and compare their figures."""
    try:
        second = load_model(state, other, device, state.scenario.contraction)
    except NonaError as error:
        show_error(error)
        return
    models = [(state.model, loaded), (other, second)]
    graph_views.side_by_side(state, models, graph_views.MODEL if view == OPERATORS else graph_views.TASKS)
    costed = {name: of.prepared.costed[0] for name, of in models}
    tasks = [len(of.prepared.contracted.tasks) for _, of in models]
    table(report_models.compared(costed, tasks), "beside", "Figures of both models")


def _parallelism_picture(total_s: float, critical_s: float) -> Node:
    widest = max(total_s, critical_s) or 1.0
    return el(
        "div",
        "spans",
        _span("one after the other (T₁)", total_s, total_s / widest, 0),
        _span("longest chain (T∞)", critical_s, critical_s / widest, 1),
    )


def _span(what: str, seconds: float, share: float, number: int) -> Node:
    return el(
        "div",
        "span",
        el("span", "", what),
        el("div", "meter", el("i", ""), __w=f"{100 * share:.2f}%", __mc=colour(number)),
        el("b", "", format_time(seconds)),
        role="img",
        aria_label=f"{what}: {format_time(seconds)}",
    )


def _gain_statement(parallelism: float) -> str:
    """Return the plain statement of what splitting can gain at most.

    >>> _gain_statement(1.0)
    'Nothing in it can run in parallel: splitting one query over servers cannot make it faster.'
    """
    if parallelism < 1.0005:
        return "Nothing in it can run in parallel: splitting one query over servers cannot make it faster."
    return (
        f"Splitting one query over servers can shorten its computing by at most "
        f"{100 * (1 - 1 / parallelism):.1f} %, if transfers and waits cost nothing."
    )


def time_by_kind(costed: CostedGraph) -> dict[str, float]:
    """Seconds of all operators of each kind."""
    times: dict[str, float] = {}
    for c in costed.costs:
        times[c.kind] = times.get(c.kind, 0.0) + c.compute_s
    return times


def model_facts(state: AppState, loaded: LoadedModel) -> None:
    """Show the figures of a model as tiles."""
    costed = loaded.prepared.costed[0]
    report = inspection(costed)
    if about := description(state.model):
        st.caption(plain(about))
    draw("parallelism", _parallelism_picture(report.total_compute_s, report.critical_path_s))
    unknown = bool(no_verdict(report.model, costed.uncounted, costed.with_work))
    if unknown:
        st.markdown(
            "The gain from splitting is unknown: this operator's work is unknown, so only its launch time "
            "counts."
        )
    elif not report.by_part:
        st.markdown(_gain_statement(report.parallelism))
    tiles(
        [
            (
                "Operators",
                f"{report.operators:,}",
                "Nodes that compute; constants count as parameters.",
            ),
            ("Edges", f"{report.edges:,}", "Pairs of operators where one reads what the other wrote."),
            (
                "Work in GMAC",
                format_number(report.gmac),
                "10⁹ multiply-adds of convolutions and matrix products.",
            ),
            ("Parameters", format_count(report.parameters), "Weights, each counted once."),
            ("Weights", format_size(report.weight_bytes), "Bytes of all parameters."),
            (
                "Parallelism T₁/T∞",
                "–" if unknown else f"{report.parallelism:.3f}",
                "Total time over the time of the longest chain: the largest speed-up that splitting can "
                "give.",
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
    origin = f"{costed.device}, {provenance_text(report.provenance)}" + (f" ({given})" if given else "")
    st.caption(plain(origin))


def graph_download(loaded: LoadedModel) -> None:
    """Offer the graph as JSON node-link, which this app and NetworkX read; made when it is asked for."""
    graph = loaded.prepared.graph
    hint = "Operators, shapes and bytes as node-link JSON. The picture: Save as SVG below the graph."
    file = f"{safe_name(graph.name)}.json"
    download_button("Graph as JSON", "graph-json", lambda: json.dumps(to_node_link(graph)), file, hint)
