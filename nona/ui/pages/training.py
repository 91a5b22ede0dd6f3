"""The Training page: its beginning, the run, its files, the tabs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import streamlit as st

from nona.report.html.training import training_html
from nona.report.simulations.timeline import trace_text
from nona.report.training.findings import finding, hero_figure
from nona.report.training.tables import stays_trace
from nona.results.training import TrainingLive, TrainingOutcome
from nona.study.training.preparation import has_trace, job_trace
from nona.ui.jobs.registry import Job
from nona.ui.pages.downloads import HTML, JSON, Download, download_row, file_stem, yaml_download
from nona.ui.pages.training_clusterview import cluster_data, cluster_view
from nona.ui.pages.training_form import trace_upload
from nona.ui.pages.training_results import (
    allocation_tab,
    fairness_tab,
    jobs_tab,
    one_more_tab,
    policies_tab,
    rounds_tab,
)
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.first_steps import Demo, demo_cards, demo_error
from nona.ui.shell.job_panel import (
    beat,
    current_job,
    job_buttons,
    live_area,
    no_result_text,
    progress_text,
    result_to_show,
)
from nona.ui.widgets.fields import plain
from nona.ui.widgets.results import hero
from nona.ui.widgets.terms import guide_link, term

GENERATED = {"generate": {"jobs": 60, "mean_gap": "20 min"}}


DEMOS = (
    Demo(
        "who_gets_the_v100",
        "Who gets the V100?",
        "Three jobs, two GPUs, small enough to solve by hand: which job gains most from the fast GPU?",
        ":material/looks_one:",
        (("training-tabs", "Allocation"),),
    ),
    Demo(
        "shared_research_cluster",
        "A shared research cluster",
        "Jobs arrive all day on three types of GPU. Compare fair, fast and simple policies.",
        ":material/groups:",
        (("training-tabs", "Policies"),),
    ),
    Demo(
        "deadlines_at_least_cost",
        "Deadlines at the least cost",
        "Every job has a deadline, every GPU a price: which policy keeps the deadlines and spends least?",
        ":material/savings:",
        (("training-tabs", "Policies"),),
    ),
    Demo(
        "two_teams_one_cluster",
        "Two teams, one cluster",
        "Each team has a weight; one shares fairly inside, the other runs first in, first out.",
        ":material/diversity_2:",
        (("training-tabs", "Policies"),),
    ),
    Demo(
        "training_notebooks_inference",
        "Training, notebooks and inference together",
        "Notebooks hold their GPUs, inference keeps replicas on different servers, training gets the rest.",
        ":material/dashboard:",
        (("training-tabs", "Policies"),),
    ),
    Demo(
        "failures_and_checkpoints",
        "Failures and checkpoints",
        "GPUs fail, jobs return to their last checkpoint: how often should they save?",
        ":material/healing:",
        (("training-tabs", "Policies"),),
    ),
)


ELASTIC_DEMOS = (
    Demo(
        "who_scales_who_waits",
        "Who scales, who waits?",
        "160 jobs on 64 GPUs. Optimus gives every job some GPUs, Tiresias what it asks for or nothing.",
        ":material/open_in_full:",
        (("training-elastic-tabs", "Policies"),),
        takes="a few seconds",
    ),
    Demo(
        "tuned_by_hand_or_by_pollux",
        "Tuned by hand or by Pollux",
        "Batch sizes that users tuned, or GPUs and batch size chosen together, minute by minute?",
        ":material/tune:",
        (("training-elastic-tabs", "Policies"),),
        takes="about 20 s",
    ),
    Demo(
        "who_sees_the_link",
        "Who sees the link?",
        "Jobs on several nodes exchange gradients over a link that others fill: who sees that, and gains?",
        ":material/cable:",
        (("training-elastic-tabs", "Policies"),),
        takes="a few seconds",
    ),
)


def start_screen(state: AppState) -> None:
    """Draw the purpose of the page, the demos, and two ways to begin with the present cluster."""
    st.markdown(
        "#### Who should get which GPU, when jobs train for hours?\n"
        "Jobs run at different speeds on different types of GPU. A policy computes the share of time that "
        "each job gets on each type; rounds of some minutes give each job that share. "
        f"{term('elastic job', 'Elastic jobs')} change their GPUs, and under Pollux their batch size, "
        "while they run."
    )
    with st.grid(3, min_column_width=260):
        demo_cards(state, "training", (*DEMOS, *ELASTIC_DEMOS))
        _generated(state)
        _traced(state)
    demo_error(state)
    guide_link("training", "What is simulated here, and what is assumed")


def _generated(state: AppState) -> None:
    with st.container(border=True, height="stretch"):
        st.markdown("**Generated jobs on this cluster**")
        st.caption("Draws jobs as Gavel's generator does. The cluster and the workload stay as they are.")
        st.button(
            "Generate jobs",
            icon=":material/casino:",
            type="primary",
            key="make-training",
            width="stretch",
            on_click=_make_training,
            args=(state,),
            help="Adds the key training to the scenario, with a generator of 60 jobs.",
        )


def _traced(state: AppState) -> None:
    with st.container(border=True, height="stretch"):
        st.markdown("**A trace on this cluster**")
        st.caption("Gavel's format (ten columns, tabs between them) or CSV with a line of column names.")
        trace_upload(state)


def _make_training(state: AppState) -> None:
    """Add the training part with a generator."""
    if state.edit(("training",), GENERATED):
        state.revision += 1
        state.tell("Training jobs are generated for this cluster. Choose its GPUs and policies below.")


KIND = "training"
POLL_S = 0.3
ADVICE = "Fewer jobs, replications or policies end sooner."


def run_area(state: AppState) -> TrainingOutcome | None:
    """Buttons, the cluster live, then the finding; the result to show below, if there is one."""
    job_buttons(state, KIND, "Run the policies")
    with st.container():
        outcome = result_to_show(state, KIND, TrainingOutcome)
    with st.container(key="training-area"):
        every_s = beat(current_job(state, KIND), POLL_S)
        st.fragment(_area, run_every=every_s)(state, every_s, outcome)
    return outcome


def _finding(held: TrainingOutcome) -> None:
    """Draw the gain of heterogeneity-awareness, and the best policy."""
    policies = held.report.policies
    label, value, hint = hero_figure(policies)
    with hero("training-finding", label, value, hint):
        large, small = finding(policies, held.report.setting.modelled)
        st.subheader(_said(large), anchor=False)
        st.caption(_said(small))
        st.caption(plain(held.about.stamp))


def _said(sentence: str) -> str:
    return plain(sentence).replace(" %", "\N{NO-BREAK SPACE}%")


def _live(job: Job) -> None:
    live = TrainingLive.from_json(job.live)
    cluster_view("training-live", cluster_data(live, job.fraction, progress_text(job)))


def _area(state: AppState, every_s: float | None, held: TrainingOutcome | None) -> None:
    if not live_area(state, KIND, every_s, _live, ADVICE):
        return
    if held is not None:
        _finding(held)
    elif current_job(state, KIND) is None:
        st.caption(
            "Every policy gets the same jobs. A run shows live who has which GPU and the mean JCT so far. "
            "Results: JCT, fairness and cost of every policy, and why a job got its GPU in any round."
        )


def _training_downloads(state: AppState, data: TrainingOutcome) -> None:
    """The block of downloads of the run that is shown."""
    name = file_stem(data.about.name)
    with st.container(border=True, key="training-downloads"):
        st.markdown("**Downloads of this run**")
        download_row(
            "To read and to share",
            [
                Download(
                    "HTML report",
                    "One file without scripts, for reading and printing: findings, policies, the scenario.",
                    f"{name}_report.html",
                    HTML,
                    lambda: training_html(data.about, data.report).encode(),
                ),
                Download(
                    "Report (JSON)",
                    "All results with their intervals, as `nona training simulate --json` prints them.",
                    f"{name}_report.json",
                    JSON,
                    lambda: json.dumps(data.report.to_json(), indent=2).encode(),
                ),
                Download(
                    "Rounds (JSON)",
                    "The first run of each policy: who ran where in each round, priorities, shares.",
                    f"{name}_rounds.json",
                    JSON,
                    lambda: json.dumps(data.to_json()).encode(),
                ),
                Download(
                    "Trace (Perfetto)",
                    "Who had which GPU; open it in ui.perfetto.dev or chrome://tracing.",
                    f"{name}_trace.json",
                    JSON,
                    lambda: trace_text(stays_trace(data)).encode(),
                ),
                yaml_download(data.about.yaml, name),
                *_jobs(state, name),
            ],
        )


def _jobs(state: AppState, name: str) -> list[Download]:
    """The jobs, while the scenario's are those of the run."""
    spec = state.scenario.training
    if state.is_stale(KIND) or spec is None or not has_trace(spec):
        return []
    return [
        Download(
            "Jobs (trace)",
            "The training jobs of the first run in Gavel's format, which this page takes as well. Names, "
            "teams, notebooks, replicas and jobs with rates of their own are left out.",
            f"{name}.trace",
            "text/tab-separated-values",
            lambda: job_trace(state.scenario, state.uploads.sources).encode(),
        )
    ]


Tab = Callable[[AppState, TrainingOutcome | None], None]


def training_tabs(state: AppState, data: TrainingOutcome | None) -> None:
    """Everything on the page beyond its finding."""
    tabs = st.tabs(list(TABS), on_change="rerun", key="training-tabs")
    for tab, draw in zip(tabs, TABS.values(), strict=True):
        if tab.open:
            with tab:
                draw(state, data)
    if data is not None:
        _training_downloads(state, data)
    equivalent(state, "training simulate", key="training")


def _of_run(draw: Callable[[AppState, TrainingOutcome], None]) -> Tab:
    """A tab that shows the result of a run, or says that there is none."""

    def drawn(state: AppState, data: TrainingOutcome | None) -> None:
        if data is None:
            st.caption(no_result_text(state, KIND))
        else:
            draw(state, data)

    return drawn


TABS: Mapping[str, Tab] = {
    "Policies": _of_run(policies_tab),
    "Fairness": _of_run(fairness_tab),
    "Rounds": _of_run(rounds_tab),
    "Allocation": _of_run(allocation_tab),
    "Jobs": _of_run(jobs_tab),
    "One more GPU": one_more_tab,
}
