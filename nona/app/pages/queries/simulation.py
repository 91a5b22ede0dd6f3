"""The Simulation page's controls, and the table of the scheduler ``expert``."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from nona.app.form import fields, form
from nona.app.jobs.kinds import KINDS
from nona.app.layout.job_panel import current_job
from nona.app.models.loading import load_row
from nona.app.pages.queries.simulation_result import TABS, answer
from nona.app.pages.queries.simulation_runs import run_note, shown_run, simulation_live, to_save
from nona.app.pages.run_page import RunPage, another_is_shown
from nona.app.pages.scenario.cluster_drawing import live_cluster
from nona.app.session.state import AppState, KeptRun
from nona.app.session.workspace import jobs
from nona.app.widgets.downloads import Files, file_stem, frame_files, kept_files, reports
from nona.app.widgets.fields import label_text, listed, plain, selector
from nona.app.widgets.policy_choice import option_popover, pick_entries
from nona.core.errors import NonaError
from nona.core.tables import share_text
from nona.core.text import count_text
from nona.queries.placement.fixed import PRESETS
from nona.queries.report.findings import shortest
from nona.queries.report.html import simulation_html
from nona.queries.report.scenario_diff import change_text
from nona.queries.report.tables import SUMMARY, figures
from nona.queries.schedulers.expert import SCHEDULER, part_numbers
from nona.queries.schedulers.registry import SCHEDULERS
from nona.queries.workflows.exports import JOBS_CSV, JOBS_PARQUET, TRACE
from nona.queries.workflows.tested_range import like_cases_text
from nona.scenario.schema import Scenario

AUTOMATIC, OWN_PARTS = "automatic", "own parts"
MODES = (AUTOMATIC, *PRESETS, OWN_PARTS)
Parts = list[list[str]]


def _expert_index(state: AppState) -> int | None:
    names = [s.name for s in state.scenario.schedulers]
    return names.index(SCHEDULER.name) if SCHEDULER.name in names else None


def _table_of(state: AppState) -> dict[str, Any]:
    index = _expert_index(state)
    table = None if index is None else state.scenario.schedulers[index].options.get("models")
    return dict(table) if isinstance(table, dict) else {}


def _mode_of(entry: Any) -> str:
    """Return the member of :data:`MODES` that an entry of the table stands for; anything else as text.

    >>> _mode_of(None), _mode_of("half"), _mode_of([["a", "b"]]), _mode_of("quarter")
    ('automatic', 'half', 'own parts', "'quarter'")
    """
    if entry is None:
        return AUTOMATIC
    if isinstance(entry, str) and entry in PRESETS:
        return entry
    return OWN_PARTS if isinstance(entry, list) else repr(entry)


def parse_parts(text: str) -> Parts:
    r"""One part per line, task ids separated by commas; an id with a comma is in double quotes.

    >>> parse_parts('a, b\n\n"c,d",')
    [['a', 'b'], ['c,d']]
    """
    lines = ([task.strip() for task in line] for line in csv.reader(text.splitlines(), skipinitialspace=True))
    return [part for line in lines if (part := [task for task in line if task])]


def parts_text(entry: Any) -> str:
    r"""Return the parts as :func:`parse_parts` reads them.

    >>> parts_text([["a", "b"], ["c,d"]])
    'a, b\n"c,d"'
    """
    parts = [part if isinstance(part, list) else [part] for part in entry] if isinstance(entry, list) else []
    return "\n".join(", ".join(_quoted(str(task)) for task in part) for part in parts)


def _quoted(task: str) -> str:
    return '"' + task.replace('"', '""') + '"' if "," in task or '"' in task else task


def _set_mode(state: AppState, label: str, mode: str) -> None:
    state.drafts.pop(("expert", label), None)
    entry: Any = None if mode == AUTOMATIC else [] if mode == OWN_PARTS else mode
    if _mode_of(entry) != _mode_of(_table_of(state).get(label)):
        _write(state, {**_table_of(state), label: entry})


def _set_parts(state: AppState, row: int, text: str) -> None:
    """Take own parts for the row of that number; what its model does not allow becomes a draft."""
    label = state.scenario.labels[row]
    why = _parts_problem(state, row, text)
    if why:
        state.keep_draft(("expert", label), text, why)
        return
    state.drafts.pop(("expert", label), None)
    _write(state, {**_table_of(state), label: parse_parts(text)})


def _parts_problem(state: AppState, row: int, text: str) -> str:
    """Name the reason why the row's model does not allow these parts, in one line; empty if it does."""
    try:
        prepared = load_row(state, row).prepared
        tasks, parts = prepared.tasks.task_ids, parse_parts(text)
        part_numbers(state.scenario.labels[row], tasks, prepared.decomposition, parts)
    except NonaError as error:
        return str(error)
    except csv.Error as error:
        return f"Parts: {error}; give one part per line, task ids separated by commas."
    return ""


def _strangers(state: AppState) -> list[str]:
    return [name for name in _table_of(state) if name not in state.scenario.labels]


def drop(state: AppState, names: Sequence[str]) -> None:
    """Take these names out of the table."""
    _write(state, {k: v for k, v in _table_of(state).items() if k not in names})


def _placeable(state: AppState, row: int) -> list[str]:
    prepared = load_row(state, row).prepared
    return [prepared.tasks.task_ids[t] for s in prepared.decomposition.subgraphs for t in s.interior]


def _write(state: AppState, table: dict[str, Any]) -> None:
    index = _expert_index(state)
    if index is None:
        return
    options = {k: v for k, v in state.scenario.schedulers[index].options.items() if k != "models"}
    chosen = {k: v for k, v in table.items() if v is not None}
    options |= {"models": chosen} if chosen else {}
    state.edit(("schedulers", index), {"name": SCHEDULER.name, "options": options})


SHOWN_TASKS = 40


def _expert_table(state: AppState) -> None:
    if _expert_index(state) is None:
        return
    own, unknown = _table_of(state), _strangers(state)
    wrong = bool(unknown) or any(path[0] == "expert" for path in state.drafts)
    with st.expander("What the expert does with each model", icon=":material/tune:", expanded=wrong):
        st.caption(
            "automatic: the preset that is fastest on an idle network. Own parts: "
            "one line per part, with tasks separated by commas; each part gets its own server, all other "
            "tasks stay on the first."
        )
        for row, label in enumerate(state.scenario.labels):
            _row(state, row, label, _mode_of(own.get(label)))
        if unknown:
            st.error(
                plain(f"Not in the workload: {', '.join(unknown)}; drop or rename the entries."),
                icon=":material/error:",
            )
            st.button("Drop these entries", icon=":material/delete:", on_click=drop, args=(state, unknown))


def _row(state: AppState, row: int, label: str, mode: str) -> None:
    options = MODES if mode in MODES else (*MODES, mode)
    hint = "Where expert puts this model's tasks, the same in every query."
    take = partial(_set_mode, state, label)
    selector(label_text(label), options, mode, f"expert-{state.revision}-{label}", take, hint)
    if mode not in MODES:
        st.error(plain(f"{mode} is no preset; choose one from the list."), icon=":material/error:")
    if mode == OWN_PARTS:
        _parts(state, row, label)


def _parts(state: AppState, row: int, label: str) -> None:
    key = f"expert-parts-{state.revision}-{label}"
    draft = state.drafts.get(("expert", label))
    text = draft.value if draft else parts_text(_table_of(state).get(label))

    def commit() -> None:
        _set_parts(state, row, str(st.session_state[key] or ""))

    why = _parts_problem(state, row, text)
    if draft and not why:  # the model or the rule changed since, and now allows them
        _set_parts(state, row, text)
    st.text_area(f"Parts of {label_text(label)}", text, key=key, on_change=commit)
    if why:
        st.error(plain(why), icon=":material/error:")
    try:
        tasks = _placeable(state, row)
    except NonaError:
        return
    more = f" … {len(tasks) - SHOWN_TASKS} more" if len(tasks) > SHOWN_TASKS else ""
    st.caption(plain(f"Tasks to place: {', '.join(tasks[:SHOWN_TASKS]) or 'none, it is a chain'}{more}"))


def _summary(scenario: Scenario) -> list[str]:
    size = scenario.simulation
    return [
        listed([s.name for s in scenario.schedulers]),
        f"{count_text(size.jobs, 'job')} × {count_text(size.replications, 'run')}",
        "" if size.precision is None else f"to {share_text(size.precision, 1)}",
        f"seed {scenario.seed}",
    ]


def _fields(state: AppState) -> None:
    """All are part of the scenario, so the other pages and the file have them too."""
    pick_schedulers(state)
    form(state, (), "simulation.jobs simulation.replications seed")
    with st.container(horizontal=True, vertical_alignment="center"):
        option_popover(state, "scheduler-options", ("schedulers",), SCHEDULERS)
        with st.popover("Warm-up and precision", icon=":material/straighten:"):
            fields(state, "simulation", "warmup precision max_replications")
    _expert_table(state)


def pick_schedulers(state: AppState) -> None:
    """Draw the choice of schedulers."""
    pick_entries(state, "simulation-schedulers", ("schedulers",))


def _shown(state: AppState) -> KeptRun | None:
    """Show the run on the page: noted where the scenario has changed, folded if of another scenario."""
    run, job = shown_run(state), current_job(state, "simulate")
    if run is None or not state.is_stale("simulate") or (job is not None and job.unfinished):
        return run
    if run.data.about.name != state.scenario.name:
        return run if another_is_shown(state, "simulate", run.data.scenario) else None
    run_note(state, run, change_text(run.data.scenario, state.scenario, KINDS.find("simulate").parts))
    return run


JOBS_TEXT = "A row per recorded job: scheduler, replication, model, arrival, completion, JCT in seconds."
KEPT_FILES = {
    TRACE: (
        "Trace (Perfetto)",
        "The first jobs on GPUs and links; open it in ui.perfetto.dev or chrome://tracing.",
    ),
    JOBS_CSV: ("Jobs (CSV)", JOBS_TEXT),
    JOBS_PARQUET: ("Jobs (Parquet)", JOBS_TEXT),
}


def run_files(state: AppState, run: KeptRun) -> Files:
    """Return the files of a run; those with every job are kept as long as its job is known."""
    data, job = run.data, jobs().get(run.job_id)
    name = file_stem(data.about.name)
    hint = "Means, intervals, percentiles, parts and rates as plain numbers, in seconds."
    kept = kept_files(job.folder, name, KEPT_FILES) if job is not None else []
    first = "restore its scenario and " if state.is_stale("simulate") else ""
    gone = f"Job tables and trace are no longer kept: {first}run again for them"
    summary = figures(data.report.schedulers, models=True, entries=data.scenario.schedulers).select(*SUMMARY)
    return {
        "To read and to share": reports(data.about, data.report, lambda: simulation_html(data), "simulate"),
        "Results per scheduler and model": frame_files("Summary", hint, f"{name}_summary", summary.numbers),
        "Every measured job" if kept else gone: kept,
    }


def _like_cases(state: AppState, run: KeptRun) -> str:
    schedulers = run.data.report.schedulers
    best = shortest({name: s for name, s in schedulers.items() if run.data.predicted.get(name) is not None})
    if best is None:
        return ""
    load, link = schedulers[best].offered.compute, schedulers[best].utilization.network
    return like_cases_text(run.data.scenario, load, link)


SIMULATION = RunPage(
    kind="simulate",
    label="Run the simulation",
    result_type=KeptRun,
    summary=_summary,
    fields=_fields,
    shown=_shown,
    live=simulation_live,
    at_once=True,
    also_live=live_cluster,
    answer=answer,
    before="Every scheduler gets the same arrivals and the same service times. A run shows response times "
    "(JCT: from arrival to completion), SLO hits and utilisation live. At the end it names the "
    "fastest scheduler, with intervals.",
    tabs=TABS,
    files=run_files,
    save=to_save,
    command="simulate",
    guide=("simulator", "What is simulated, and how its results are judged"),
    evidence=("Predictions", _like_cases),
    advice="No replication was complete, so there is no result. Fewer jobs take less time.",
    poll_s=0.12,
)
