"""Comparisons on the page: loads, nodes, ways of sharing."""

from __future__ import annotations

import streamlit as st

from nona.app.jobs.registry import AppJob
from nona.app.pages.run_page import PageRun, ended_early, run_area
from nona.app.pages.serverless.results import choose_one
from nona.app.session.state import AppState
from nona.app.tasks.context import WaysAsked
from nona.app.widgets.fields import plain, share_to_keep, show_error, whole
from nona.app.widgets.results import chart, picture, table
from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.errors import NonaError
from nona.core.figures import dots_figure
from nona.queries.sweeps.numbers import LOAD, ScenarioNumber
from nona.queries.sweeps.report import parse_values
from nona.serverless.chart_data import ServerlessOutcome
from nona.serverless.report.figures import (
    COST,
    GOODPUT,
    cost_dots,
    hit_dots,
    nodes_figure,
    over_alt,
    over_figure,
    under_ways,
    ways_title,
)
from nona.serverless.report.figures import ways as way_table
from nona.serverless.report.findings import nodes, nodes_finding
from nona.serverless.report.over import knees, over_finding, over_points, over_setting
from nona.serverless.results import (
    CALLS,
    MOST_REPLICATIONS,
    NodesReport,
    NodesRequest,
    OverReport,
    OverRequest,
    WaysReport,
)
from nona.serverless.workflows.comparisons import ways_for
from nona.serverless.workflows.knees import MOST_CALLS, SWEPT, over_number


def over_tab(state: AppState, data: ServerlessOutcome | None) -> None:
    """Draw the tab that varies one number of the scenario under every policy."""
    st.markdown(
        "How much more traffic can each policy take before it misses SLOs? Other numbers of the scenario can "
        "vary too, such as vCPUs per node."
    )
    asked = _requested(state)
    if asked is None:
        return
    values = () if asked.extend else ("--values", ",".join(f"{v:g}" for v in asked.values))
    target = ("--target", f"{100 * asked.target:g}%", "--calls", str(asked.jobs))
    run_area(
        state,
        PageRun(
            kind="serverless-over",
            label="Find the knees",
            result_type=OverReport,
            live=_live,
            answer=lambda state, report: _over_answer(report, "over"),
            request=asked,
            before="Every policy gets the same calls at every value. Bisection finds where a policy stops "
            "keeping the target, with a sequential test at 95 % for each value.",
            command="serverless",
            words=("--over", asked.number, *values, *target),
        ),
    )


def _requested(state: AppState) -> OverRequest | None:
    """Return the question as it stands in the fields; ``None`` with an error that says what is wrong."""
    by_label = {number.label: number for number in SWEPT if _is_present(state, number)}
    with st.grid(3, min_column_width=200):
        hint = "Load multiplies the traffic. All other choices are numbers of the scenario."
        number = by_label[choose_one("Over", list(by_label), "over-number", hint)]
        text = st.text_input(
            "Values",
            number.usual,
            key=f"serverless-shown-over-values-{number.key}",
            help="Values with commas, or FIRST:LAST:STEP. Knees are searched between these values"
            + (", and beyond them by factors of two." if number.key == LOAD else "."),
        )
        hint = f"Measured calls; 2 to {MOST_REPLICATIONS} runs of each point, as many as a verdict needs."
        key = "serverless-shown-over-calls"
        calls = whole("Calls of each run", 50, MOST_CALLS, CALLS, key, hint, step=100)
    hint = (
        "A policy's knee is the value beyond which it no longer keeps this share of calls within their SLO."
    )
    target = share_to_keep("serverless-shown-over-target", hint)
    try:
        values = parse_values(text, number.unit, "Values")
    except NonaError as error:
        show_error(error)
        return None
    spec = state.scenario.serverless
    return OverRequest(
        number=number.key,
        values=values,
        schedulers=tuple(p.name for p in spec.policies) if spec else (),
        target=target,
        jobs=calls,
        extend=number.key == LOAD,
    )


def _is_present(state: AppState, number: ScenarioNumber) -> bool:
    """Return whether the scenario has the number, and depends on it."""
    try:
        over_number(state.scenario, number.key)
    except NonaError:
        return False
    return True


def _live(job: AppJob) -> None:
    report = OverReport.from_json(job.live)
    if any(p.points for p in report.policies.values()):
        picture(over_figure(report), "over-live", over_alt(report))


def _over_answer(report: OverReport, key: str) -> None:
    over_charts(report, key)
    table(knees(report), f"{key}-knees", "How far each policy keeps the target")
    with st.expander("Every simulated point", icon=":material/table:"):
        table(over_points(report), f"{key}-points", "Every policy at every simulated value")
    st.caption(plain(over_setting(report)))


EVERY = "every policy of the scenario"


def nodes_tab(state: AppState, data: ServerlessOutcome | None) -> None:
    """Draw the tab that finds the fewest nodes for each policy."""
    names = [p.name for p in state.scenario.serverless.policies] if state.scenario.serverless else []
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        hint = "Required share of calls within their SLO; its whole 95 % interval must reach it."
        share = share_to_keep("serverless-shown-target", hint)
    with right:
        who = choose_one("Under", [EVERY, *names], "node-policy", "Each policy needs its own search.")
    with st.grid(2, min_column_width=170):
        hint = "Of each run; 4 to 16 runs per count, as many as a verdict needs."
        calls = whole("Calls of a run", 50, 20_000, 600, "serverless-shown-node-calls", hint, step=50)
        hint = "Larger counts are not tried."
        most = whole("Nodes at most", 1, 256, 64, "serverless-shown-most-nodes", hint)
    chosen = names if who == EVERY else [who]
    asked = NodesRequest(target=share, policies=tuple(chosen), calls=calls, most=most)
    run_area(
        state,
        PageRun(
            kind="serverless-nodes",
            label="Find the fewest nodes",
            result_type=NodesReport,
            live=_nodes_live,
            answer=_nodes_answer,
            request=asked,
            before="Doubles the first group of nodes until the target holds, then bisects to the fewest and "
            "checks the neighbouring counts. Every count is simulated with the same random numbers.",
            command="serverless",
            words=("--nodes-for", f"{100 * share:g}%", "--most", str(most)),
        ),
    )


def _nodes_live(job: AppJob) -> None:
    so_far = NodesReport.from_json(job.live)
    st.markdown(f"So far: {plain(nodes_finding(so_far))}")
    st.caption("Cancel keeps it.")


def _nodes_answer(state: AppState, report: NodesReport) -> None:
    ended_early(report.ended_early_s)
    finding = nodes_finding(report)
    st.subheader(plain(finding), anchor=False)
    alt = f"Share of SLOs kept over the number of nodes, with intervals; the target is dashed. {finding}"
    picture(nodes_figure(report), "serverless-nodes-figure", alt)
    table(nodes(report), "serverless-nodes-table", "Every number of nodes that was tried")
    st.caption(
        "“undecided”: the interval still contains the target after all runs, which counts as not kept. The "
        "cluster costs money even when idle; “$ per hour held” is the cost of resources that batches held."
    )


MOST_SHARING_CALLS, MOST_RUNS = 4000, 3


def sharing_tab(state: AppState, data: ServerlessOutcome | None) -> None:
    """Draw the tab that compares the sharing modes of GPUs."""
    st.markdown("Runs one policy on the same calls and noise; only the sharing mode of the GPUs changes.")
    policies = [p.name for p in state.scenario.serverless.policies] if state.scenario.serverless else []
    size = state.scenario.simulation
    with st.grid(3, min_column_width=170):
        policy = choose_one(
            "Policy to compare with",
            policies,
            "way-policy",
            "The policy to run under each sharing mode.",
        )
        key, usual = "serverless-shown-way-calls", min(size.jobs, 1500)
        hint = "In each run. More calls narrow the intervals."
        calls = whole("Calls in each run", 10, MOST_SHARING_CALLS, usual, key, hint, step=100)
        key, hint = "serverless-shown-way-runs", "2 or more give intervals."
        runs = whole("Runs of each sharing mode", 1, 20, MOST_RUNS, key, hint)
    asked = WaysAsked(policy=policy, calls=int(calls), replications=int(runs))
    run_area(
        state,
        PageRun(
            kind="serverless-sharing",
            label="Compare sharing modes",
            result_type=WaysReport,
            answer=_sharing_answer,
            request=asked,
            before="MIG isolates functions but restricts placement. MPS fits any size. With oversubscription "
            "above 1, clients slow each other down.",
            command="serverless",
            words=[word for mode in ways_for() for word in ("--sharing", mode)],
        ),
    )


def _sharing_answer(state: AppState, data: WaysReport) -> None:
    ways = under_ways(data)
    st.subheader(plain(ways_title(ways, data.policy)), anchor=False)
    with st.grid(2, min_column_width=330):
        figure = dots_figure(hit_dots(ways), "SLOs kept, %", most=100.0)
        alt = "Share of SLOs kept under each way of sharing, with 95 % intervals"
        chart(figure, "SLOs kept", "way-hits", alt)
        figure = dots_figure(cost_dots(ways), "$ per 1,000 calls")
        alt = "Cost of 1,000 calls under each way of sharing, with 95 % intervals"
        chart(figure, "Cost", "way-costs", alt)
    table(way_table(ways), "serverless-ways", "Every way of sharing with its figures")
    st.caption(" ".join(f"{w.title}: {w.about}." for w in SHARING_MODES.values() if w.name in ways))


def over_charts(report: OverReport, key: str) -> None:
    """SLOs kept, goodput and cost of every policy over the number."""
    chart(over_figure(report), f"{over_finding(report)}.", f"{key}-hits", over_alt(report))
    with st.grid(2, min_column_width=360):
        for what, measure in (("goodput", GOODPUT), ("cost", COST)):
            heading = measure.title[0].upper() + measure.title[1:]
            chart(over_figure(report, measure, 300), heading, f"{key}-{what}", over_alt(report, measure))
