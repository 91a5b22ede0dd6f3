"""The Placement page: objective, search, tabs with servers and formulas; engines of language models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from nona.app.form import field
from nona.app.jobs.registry import AppJob
from nona.app.pages.queries import placement_result
from nona.app.pages.run_page import RunPage, Tab
from nona.app.pages.scenario.language import prepared_language
from nona.app.session.state import AppState
from nona.app.widgets.downloads import reports
from nona.app.widgets.fields import plain
from nona.app.widgets.results import picture, table, titled
from nona.app.widgets.terms import guide_link
from nona.core.errors import NonaError, ScenarioError
from nona.core.tables import of_mappings, share_text
from nona.core.units import format_number, format_time
from nona.language.report.figures import sizes_figure, sizes_finding
from nona.language.report.tables import SIZES
from nona.language.workflows.sizes import engine_sizes, own_rate
from nona.queries.placement.results import (
    LayoutComparison,
    PlacementReport,
    SearchProgress,
    SearchStep,
    SolvedPlacement,
    WorkingLine,
    WorkingModel,
)
from nona.queries.report.html import placement_html
from nona.queries.report.placement import comparison, layouts, tables, text
from nona.queries.report.placement.figures import link_waits_figure, steps_figure
from nona.queries.workflows.stage_layouts import with_layout
from nona.queries.workflows.tested_range import like_cases_text
from nona.scenario.schema import Scenario
from nona.scenario.words import words


def _objective_choice(state: AppState) -> None:
    left, _ = st.columns([2, 3])
    with left:
        field(state, "objective")


def _summary(scenario: Scenario) -> list[str]:
    return [f"Objective: {words('objective').choices[scenario.objective]}"]


WORTH = 2  # steps: fewer need no figure


def _live_search(job: AppJob) -> None:
    search = SearchProgress.from_json(job.live)
    if not search.steps:
        return
    st.markdown(f"**{plain(text.best_so_far(search))}**")
    st.caption("Cancel keeps it.")
    _steps(search.steps, "live")


def solved_text(data: SolvedPlacement) -> str:
    """Format the time of the placement: none for a cancelled search, the earlier one for a known solution.

    ``Solved in 12.3 s``
    """
    if data.ended_early_s is not None:
        return f"Cancelled after {format_time(data.ended_early_s, 2)}"
    if data.known:
        return f"Reused from an earlier search, which took {format_time(data.nona.seconds)}"
    return f"Solved in {format_time(data.nona.seconds)}"


def _search_section(data: SolvedPlacement) -> None:
    with st.expander("How the search went", icon=":material/timeline:"):
        st.caption(plain(f"{solved_text(data)}. {comparison.lead_text(data.nona)}"))
        if len(data.steps) >= WORTH:
            _steps(data.steps, "steps")
            st.caption(
                "These figures come from the search's short runs. The chosen placement was simulated again "
                "with other random numbers, so its figure above differs."
            )


def _steps(steps: Sequence[SearchStep], key: str) -> None:
    if len(steps) >= WORTH:
        what = "share of late jobs" if steps[-1].late else "mean JCT"
        alt = f"Simulated {what} of the best placement so far over the seconds of the search"
        picture(steps_figure(steps), key=f"search-{key}", alt=alt)
    table(tables.steps(steps), f"search-{key}-table", "The steps of the search")


def _times_section(report: PlacementReport) -> None:
    st.subheader("How long a job takes")
    st.markdown(f"**{plain(text.times_finding(report.simulated))}.**")
    table(tables.times(report), "times", "Simulated response times of each model")
    st.caption(
        f"{report.simulated.jobs:,} simulated jobs, with random numbers that the search did not use. Run the "
        "simulation for narrower intervals and other schedulers."
    )
    if report.warning:
        st.caption(plain(report.warning))


def _link_section(report: PlacementReport) -> None:
    links = report.predicted.links
    if len(links) < 2:
        return
    st.subheader("Where messages wait")
    alt = "Predicted wait of a mean message at each link on its path"
    titled(link_waits_figure(links), text.link_finding(links), "link-waits", alt)
    table(tables.LINKS.fill(links), "link-waits-table", "Predicted waits at the links of each role")
    st.caption(
        "Modelled as independent queues, first come first served, background included. The bars add up to "
        "the mean wait of a message."
    )


def _servers_section(report: PlacementReport) -> None:
    st.subheader("GPUs and memory")
    st.markdown(f"**{plain(text.servers_finding(report))}. {plain(text.memory_finding(report))}.**")
    table(tables.classes(report), "classes", "Executor classes with their load, wait and memory")
    if shares := tables.class_shares(report):
        st.markdown(
            "Every server of a query, its first and one for each part, is drawn with these probabilities, "
            "then uniformly within its class:"
        )
        table(shares, "shares", "Probability of each executor class, model by model")
    with st.expander("Replicas of weights", icon=":material/memory:"):
        st.caption(
            "A GPU or slice holds all weights of every model that may run on it; rows with the same model "
            "share them. Only weights count, at the precision of the cost model: leave room for activations "
            "and the runtime. The schedulers random, jsq-d, opportunistic, priority, sparrow, tetris, "
            "spark-fair and spark-fifo assume that every GPU or slice holds all models."
        )
        table(
            tables.REPLICAS.fill(report.memory.models),
            "replicas",
            "Weights of each model, and how many executors hold them",
        )


def _show_working(state: AppState, data: SolvedPlacement) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader("Formulas", width="content", anchor="working")
        guide_link("placement", "What the symbols mean")
    hint = "Shows each step from the link load to the objective, with your numbers."
    every = "Every formula with the numbers of this placement"
    if not st.toggle(every, key="working-on", persist_state="session", help=hint):
        return
    if not data.working.lines:
        st.caption(
            "None: the formula does not cover executors that batch, instances that share a GPU, and users."
        )
    for line in data.working.lines:
        _formula_line(line)
    _queries(data.working.models)


def _formula_line(line: WorkingLine, name: str = "") -> None:
    with st.expander(f"{plain(name)}{plain(line.title)}: **{plain(value_text(line))}**"):
        st.latex(line.formula)
        st.latex(line.filled)
        if len(line.table) > 1:
            table(of_mappings(line.table), f"working-{line.key}", f"Terms of: {line.title}")


def value_text(line: WorkingLine) -> str:
    """Return the value of a line with its unit.

    >>> wait = WorkingLine(key="w", title="Wait", formula="W", filled="W", value=0.0012, unit="s")
    >>> value_text(wait), value_text(wait.model_copy(update={"value": 0.5, "unit": ""}))
    ('1.2 ms', '0.5')
    """
    if line.value is None:
        return "no finite value"
    if line.unit == "s":
        return format_time(line.value, 4)
    if line.unit == "s/B":
        return f"{format_time(1e6 * line.value)} per MB"
    return format_number(line.value)


def _queries(models: Mapping[str, WorkingModel]) -> None:
    for name, model in models.items():
        for line in model.lines:
            _formula_line(line, f"{name}: ")
    names = [n for n, m in models.items() if any(s.configurations and s.interior for s in m.subgraphs)]
    if not names:
        return
    st.markdown("**A sub-graph's time** (equations 10 and 11): along the longest path of each configuration")
    st.latex(r"g_c = \sum p_v + \mathrm{transfers} + n_c W_n + v_c W_c,\qquad g = \sum_c x_c\, g_c")
    left, right = st.columns([1, 2])
    name = left.selectbox("Model", names, key="working-model", help="The model to show.")
    subgraphs = [s for s in models[name or names[0]].subgraphs if s.interior]
    chosen = right.selectbox(
        "Sub-graph",
        range(len(subgraphs)),
        format_func=lambda i: f"{i + 1}: {subgraphs[i].title}",
        key=f"working-subgraph-{name}",
        help="The sub-graph to show; its configurations in use are the rows below.",
    )
    subgraph = subgraphs[chosen or 0]
    table(
        tables.paths(subgraph.configurations),
        "working-configurations",
        "Longest path of each configuration in use",
    )
    if subgraph.span_s is not None:
        st.caption(f"Mean over the configurations: {format_time(subgraph.span_s, 4)}.")


def _tasks(state: AppState, data: SolvedPlacement) -> None:
    if data.nona.layouts is not None:
        _layouts(state, data.nona.layouts)
    st.subheader("Where the tasks run")
    placement_result.configurations_of(state, data.nona)


def _layouts(state: AppState, found: LayoutComparison) -> None:
    """Draw who shares GPUs: the layouts of the stages of a row, one of which can become the scenario."""
    st.subheader("Who shares GPUs")
    st.markdown(f"**{plain(layouts.layout_finding(found))}**")
    table(
        layouts.layout_rows(found), "stage-layouts", f"Layouts of the stages of {found.row}, the best first"
    )
    st.caption(layouts.ABOUT)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = {layout.title: layout for layout in found.layouts}
        hint = "Its server groups and its instances of stages."
        chosen = st.selectbox("Layout", list(titles), key="stage-layout", help=hint)
        if st.button("Make it the scenario", key="use-layout", disabled=state.is_stale("place")):
            layout = titles[chosen or found.layouts[0].title]
            state.apply(with_layout(state.scenario, layout), f"Layout of stages: {layout.title}")
            st.rerun()


def _resources(state: AppState, data: SolvedPlacement) -> None:
    _servers_section(data.nona)
    _link_section(data.nona)


def _gain(state: AppState, data: SolvedPlacement) -> None:
    st.subheader("What splitting can gain at most")
    st.caption(
        "Parallelism is the time of all operators divided by the time of the longest chain. It is the "
        "possible speed-up of a query if transfers and waits cost nothing."
    )
    table(tables.FACTS.fill(data.models), "gain", "Parallelism of each model")


def _answer(state: AppState, data: SolvedPlacement) -> None:
    if data.ended_early_s is not None:
        st.warning(plain(text.early_text(data.ended_early_s)), icon=":material/stop_circle:")
    placement_result.result_tiles(data)
    placement_result.charts(data)
    _times_section(data.nona)
    placement_result.formula_notes(data.nona)
    _search_section(data)


def _like_cases(state: AppState, data: SolvedPlacement) -> str:
    predicted = data.nona.predicted
    return like_cases_text(state.scenario, predicted.compute_utilization, predicted.network_utilization)


PLACEMENT = RunPage(
    kind="place",
    label="Solve the placement",
    result_type=SolvedPlacement,
    summary=_summary,
    fields=_objective_choice,
    live=_live_search,
    answer=_answer,
    before="No placement yet. The formula proposes placements, and simulation takes the best, in a few "
    "seconds. Cancel keeps the best so far. The result shows which parts of a query run where, and "
    "how many placements were compared.",
    tabs={
        "Where the tasks run": Tab(_tasks),
        "Servers and links": Tab(_resources),
        "What splitting can gain": Tab(_gain),
        "Formulas": Tab(_show_working),
    },
    files=lambda state, data: {
        "To read and to share": reports(data.about, data, lambda: placement_html(data), "place", "placement")
    },
    command="place",
    words=("--json",),
    guide=("placement", "How a placement is found, and what is proved"),
    evidence=("Predictions", _like_cases),
)


def engines_section(state: AppState) -> None:
    """Draw a chart over the rate for the GPUs of a server with an engine.

    Drawn at once, as it takes no run.
    """
    st.subheader("Engines of one GPU or of several?")
    st.caption(
        "One server with at least two GPUs runs one engine per GPU, or engines that span several (tensor "
        "parallel). The chart shows the formula's mean time per output token over the total rate. A line "
        "ends where engines or caches are full. The formula ignores token budget and preemption: simulate "
        "your choice."
    )
    groups = {
        f"{index + 1}: {max(2, group.gpus)} {group.gpu}": index
        for index, group in enumerate(state.scenario.cluster.servers)
        if group.engine is not None
    }
    names, prepared = list(groups), prepared_language(state)
    hint = "A server group with an engine; one GPU counts as two here."
    chosen = st.selectbox("Servers", names, key="engine-sizes", help=hint) if len(names) > 1 else names[0]
    group = groups[chosen or names[0]]
    try:
        if isinstance(prepared, ScenarioError):
            raise prepared
        curves = engine_sizes(state.scenario, state.uploads.sources, state.scenario.cluster.servers[group])
    except NonaError as error:
        st.warning(plain(str(error)), icon=":material/info:")
        return
    finding = sizes_finding(curves)
    st.markdown(f"**{plain(finding)}**")
    own = own_rate(prepared, group)
    alt = f"Time per output token over the rate; this scenario has {format_number(own)}/s. {finding}"
    picture(sizes_figure(curves, own), "engine-sizes-chart", alt)
    if state.scenario.cluster.servers[group].gpus < WORTH:
        st.caption("A server of this group has one GPU. The chart takes two, with the requests of two.")
    errors = {curve.gpus: curve.error for curve in curves if curve.error}
    if errors:
        worst = share_text(max(errors.values()))
        st.caption(
            f"Step times may be off by up to {worst}. Lines are off by as much at low rates, and more at "
            "high rates."
        )
    table(SIZES.fill(curves), "engine-sizes-table", "Each size of engines: its fastest token, what it serves")
