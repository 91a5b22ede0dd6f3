"""Where the jobs are from: the generator, a trace, or the list in the scenario."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from nona.errors import NonaError
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, count, plain, quantity, toggle
from nona.ui.widgets.tables import table

PART = "training"
ENDINGS = (".trace", ".csv", ".tsv", ".txt")
SOURCES = {"generate": "generator", "trace": "trace", "jobs": "list in the scenario"}
TRACE_HELP = (
    "Gavel's format: ten columns with tabs between them, a line for each job. CSV: a first line with the "
    "names of the columns, such as name, model, steps, workers, arrival_s."
)


def source_of(state: AppState) -> str:
    """Which of the three ways the scenario uses."""
    spec = state.scenario.training
    if spec is None or spec.generate is not None:
        return "generate"
    return "trace" if spec.trace is not None else "jobs"


def job_fields(state: AppState) -> None:
    """Where jobs are from, and the fields of that source."""
    shown = source_of(state)
    names = [k for k in SOURCES if k != "jobs" or shown == "jobs"]
    key = f"training-source-{state.revision}-{shown}"

    def commit() -> None:
        name = next((k for k in SOURCES if SOURCES[k] == st.session_state[key]), shown)
        _use(state, name)

    st.segmented_control(
        "Jobs from",
        [SOURCES[n] for n in names],
        default=SOURCES[shown],
        required=True,
        key=key,
        help="The generator draws jobs as Gavel's does; a trace is a file of yours. Undo brings a list back.",
        on_change=commit,
    )
    if state.choices.complaints.get("training-trace"):
        st.error(plain(state.choices.complaints["training-trace"]), icon=":material/error:")
    {"generate": _generator, "trace": _trace, "jobs": _listed}[shown](state)


def _use(state: AppState, name: str) -> None:
    """Take the jobs from there; a trace needs a file first."""
    if name == "trace" and not _traces(state):
        state.choices.complaints["training-trace"] = (
            "No trace was uploaded yet: upload one below, and it is used."
        )
        state.revision += 1  # the switch goes back to what the scenario has
        return
    if name == "trace":
        _take_source(state, {"trace": _traces(state)[0]})
    elif name == "generate":
        _take_source(state, {"generate": {}})


def _take_source(state: AppState, source: dict[str, Any]) -> None:
    """The training part with its jobs from ``source`` alone; a new one where there is none."""
    now = state.value((PART,)) or {}
    kept = {k: v for k, v in now.items() if k not in SOURCES}
    if state.edit((PART,), {**kept, **source}):
        state.choices.complaints.pop("training-trace", None)
        state.revision += 1


def _generator(state: AppState) -> None:
    path = (PART, "generate")
    with st.grid(4, min_column_width=140):
        with st.container():
            count(state, "Jobs", (*path, "jobs"), 1, 100_000, "How many jobs arrive in each run.")
        with st.container():
            hint = (
                "Mean time from an arrival to the next (exponential); 0 s: all jobs are there at the start."
            )
            quantity(state, "Mean gap", (*path, "mean_gap"), hint)
        with st.container():
            _measured(state)
    with st.container(horizontal=True):
        toggle(
            state, "Multi-GPU jobs", (*path, "multi_gpu"), "30 % of the jobs take 2, 4 or 8 GPUs at a time."
        )
        toggle(state, "Weights", (*path, "weights"), "A fifth of the jobs has weight 5, the others 1.")
        toggle(
            state,
            "Deadlines",
            (*path, "slos"),
            "Each job has an SLO of 1.2, 2 or 10 times its duration on a V100.",
        )
    trace_upload(state, "Or upload a trace")


def _measured(state: AppState) -> None:
    """First and last job that metrics count, in one text field."""
    path = (PART, "generate", "measured")
    key, now = f"training-measured-{state.revision}", state.value(path)

    def commit() -> None:
        words = str(st.session_state[key] or "").replace(",", " ").replace("to", " ").split()
        value: Any = [int(w) for w in words] if all(w.isdigit() for w in words) else words
        state.edit(path, value or None)

    shown = "" if now is None else f"{now[0]} to {now[1]}"
    draft = state.drafts.get(path)
    st.text_input(
        "Measured jobs",
        shown,
        key=key,
        placeholder="all",
        on_change=commit,
        help="First and last number of the jobs that count, such as 100 to 200; empty: all."
        " The others only add load.",
    )
    if draft:
        st.error(plain(draft.error), icon=":material/error:")


def _trace(state: AppState) -> None:
    names = _traces(state)
    now = state.value((PART, "trace"))
    choice(state, "Trace", (PART, "trace"), [*dict.fromkeys([now, *names])], TRACE_HELP)
    trace_upload(state, "Upload another trace")


def _listed(state: AppState) -> None:
    spec = state.scenario.training
    rows = [job.model_dump(mode="json", exclude_defaults=True) for job in spec.jobs] if spec else []
    st.caption(
        f"{len(rows)} jobs are in the scenario. Edit them in its YAML, or take a generator or a trace."
    )
    for row in rows:
        if "throughputs" in row:
            row["throughputs"] = ", ".join(f"{k} {v:g}/s" for k, v in row["throughputs"].items())
    alt = "The jobs that the scenario lists, with steps and speeds"
    table(pd.DataFrame(rows), "training-listed", alt, placeholder="–")


def _traces(state: AppState) -> list[str]:
    return [n for n in state.uploads.names() if n.lower().endswith(ENDINGS)]


def trace_upload(state: AppState, label: str = "Trace file") -> None:
    """The upload of a trace; it becomes the source of the jobs at once."""
    key = f"training-trace-{state.revision}"

    def take() -> None:
        upload = st.session_state[key]
        if upload is None:
            return
        try:
            name = upload.name if upload.name.lower().endswith(ENDINGS) else f"{upload.name}.trace"
            _take_source(state, {"trace": state.uploads.add(name, upload.getvalue())})
        except NonaError as error:
            state.choices.complaints["training-trace"] = str(error)

    st.file_uploader(label, key=key, on_change=take, max_upload_size=64, help=TRACE_HELP)
