"""The Training page: its beginning, and jobs that run in rounds."""

from __future__ import annotations

import streamlit as st

from nona.app.jobs.registry import AppJob
from nona.app.layout.first_steps import Demo, examples, start_card
from nona.app.pages.run_page import RunPage
from nona.app.pages.training.drawings import training_drawing
from nona.app.pages.training.form import controls, jobs_upload, summary
from nona.app.pages.training.results import ADVICE, POLL_S, TABS, answer, files
from nona.app.session.state import AppState
from nona.app.widgets.components import draw
from nona.app.widgets.downloads import Download, Files, file_stem
from nona.app.widgets.terms import guide_link, term
from nona.core.chrome_trace import trace_text
from nona.training.report.traces import stays_trace
from nona.training.results import TrainingLive, TrainingOutcome
from nona.training.workflows.preparation import has_trace, job_trace

GENERATED = {"generate": {"jobs": 60, "mean_gap": "20 min"}}


DEMOS = (
    Demo(
        "who_gets_the_v100",
        "Three jobs share two GPUs, few enough to solve by hand. Which job gains most from the fast GPU?",
        "looks_one",
        "training-tabs",
        "Allocation",
    ),
    Demo(
        "shared_research_cluster",
        "Jobs arrive all day on three types of GPU. Compare fair, fast and simple policies.",
        "groups",
        "training-tabs",
        "Policies",
    ),
    Demo(
        "who_scales_who_waits",
        "160 jobs that can grow share 64 GPUs. Optimus gives each job some; Tiresias gives a job all it asks "
        "for, or nothing.",
        "open_in_full",
        "training-elastic-tabs",
        "Policies",
    ),
)


def start_screen(state: AppState) -> None:
    """Draw the purpose of the page, two ways to begin with the present cluster, and examples."""
    st.markdown(
        "Jobs run at different speeds on different types of GPU. A policy computes each job's share of time "
        f"on each type; rounds of some minutes realize these shares. {term('elastic job', 'Elastic jobs')} "
        "change their GPUs, and under Pollux their batch size, "
        "while they run."
    )
    with st.grid(2, min_column_width=260):
        _own(state)
        _generated(state)
    examples(state, "training", DEMOS, (TRAINING.kind, "training-elastic"))
    guide_link("training", "What is simulated here, and what is assumed")


def _generated(state: AppState) -> None:
    start_card(
        "Generated jobs on this cluster",
        "Draws jobs by Gavel's generator. Cluster and workload stay unchanged.",
        "Generate jobs",
        "make-training",
        _make_training,
        state,
        icon="casino",
        hint="Adds the key training to the scenario, with a generator of 60 jobs.",
        type="primary",
    )


def _own(state: AppState) -> None:
    with st.container(border=True, height="stretch"):
        st.markdown("**Your jobs on this cluster**")
        st.caption("State each job's duration on a GPU, or its steps. The file is checked at once.")
        jobs_upload(state)


def _make_training(state: AppState) -> None:
    if state.change(("training",), GENERATED):
        state.notify("Training jobs are generated for this cluster. Choose its GPUs and policies below.")


def _live(job: AppJob) -> None:
    draw("training-live", training_drawing(TrainingLive.from_json(job.live)))


def _files(state: AppState, data: TrainingOutcome) -> Files:
    name = file_stem(data.about.name)
    trace = Download(
        "Trace (Perfetto)",
        "GPUs of every job over time; open it in ui.perfetto.dev or chrome://tracing.",
        f"{name}_trace.json",
        lambda: trace_text(stays_trace(data)).encode(),
    )
    rounds = "First run of each policy: jobs and GPUs of each round, priorities, shares."
    tables = [trace, *_jobs(state, name)]
    return files(data, "training simulate", ("Rounds", rounds), tables)


def _jobs(state: AppState, name: str) -> list[Download]:
    """Return the jobs, while the scenario's are those of the run."""
    spec = state.scenario.training
    if state.is_stale(TRAINING.kind) or spec is None or not has_trace(spec):
        return []
    return [
        Download(
            "Jobs (trace)",
            "Training jobs of the first run in Gavel's format, which this page reads too. Names, teams, "
            "notebooks, replicas and jobs with their own rates are left out.",
            f"{name}.trace",
            lambda: job_trace(state.scenario, state.uploads.sources).encode(),
        )
    ]


TRAINING = RunPage(
    kind="training",
    label="Run the policies",
    result_type=TrainingOutcome,
    summary=summary,
    fields=controls,
    live=_live,
    answer=answer,
    before="Every policy gets the same jobs. A run shows live which job has which GPU, and the mean JCT so "
    "far. Results are JCT, fairness and cost of every policy, and the reason for every decision.",
    tabs=TABS,
    files=_files,
    command="training simulate",
    guide=("training", "What is simulated here, and what is assumed"),
    advice=ADVICE,
    poll_s=POLL_S,
)
