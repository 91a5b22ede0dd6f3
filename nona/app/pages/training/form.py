"""The form of the Training page: jobs, GPUs and prices, policies, rounds, switches."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from nona.allocation.registry import POLICIES
from nona.app.form import field, fields, form, help_text, switch
from nona.app.pages.scenario.edits import REGION_GROUPS, Groups, groups_of, remove_group, replace_groups
from nona.app.session.state import AppState
from nona.app.widgets.downloads import download_button
from nona.app.widgets.fields import (
    acting,
    button,
    field_error,
    label_text,
    late,
    listed,
    plain,
    show_error,
    upload,
)
from nona.app.widgets.policy_choice import option_popover, pick_entries, policy_entries
from nona.app.widgets.results import table
from nona.cluster.hardware.device import devices
from nona.cluster.prices import Price, listed_prices
from nona.core.errors import NonaError
from nona.core.tables import of_mappings
from nona.core.text import count_text
from nona.planning.servers import cost_note
from nona.scenario.opening import edited
from nona.scenario.schema import Scenario
from nona.scenario.words import words
from nona.training.job_files import TEMPLATE, is_trace, read_job_table, read_trace
from nona.training.report.findings import hours_text, jobs_text
from nona.training.system import TrainingJob
from nona.training.workflows.preparation import prepare_training

PART = "training"
ENDINGS = (".trace", ".csv", ".tsv", ".txt")
SOURCES = {"trace": "your file", "generate": "generator", "jobs": "list in the scenario"}


def _source_of(state: AppState) -> str:
    spec = state.scenario.training
    if spec is None or spec.generate is not None:
        return "generate"
    return "trace" if spec.trace is not None else "jobs"


def _job_source_fields(state: AppState) -> None:
    """Draw the choice of where jobs come from, and the fields of the chosen source."""
    shown = _source_of(state)
    names = [k for k in SOURCES if k != "jobs" or shown == "jobs"]
    st.segmented_control(
        "Jobs from",
        [SOURCES[n] for n in names],
        default=SOURCES[shown],
        required=True,
        help="A file of your own jobs, or jobs from Gavel's generator. Undo brings a list back.",
        **acting(
            f"training-source-{state.revision}-{shown}",
            lambda title: _use(state, next((k for k in SOURCES if SOURCES[k] == title), shown)),
        ),
    )
    {"generate": _generator, "trace": _trace, "jobs": _listed}[shown](state)


def _use(state: AppState, name: str) -> None:
    if name == "trace" and not _traces(state):
        state.choices.complaints["training-trace"] = "There is no job file yet: upload one below."
        state.revision += 1  # the switch goes back to what the scenario has
        return
    if name == "trace":
        _take_source(state, {"trace": _traces(state)[0]})
    elif name == "generate":
        _take_source(state, {"generate": {}})


def _take_source(state: AppState, source: dict[str, Any]) -> None:
    """Make ``source`` the only source of the training jobs; create the training part where there is none."""
    if state.change((PART,), _with_source(state, source)[PART]):
        state.choices.complaints.pop("training-trace", None)


def _with_source(state: AppState, source: dict[str, Any]) -> dict[str, Any]:
    """Return the whole scenario as a file writes it, with training jobs from ``source`` alone."""
    data = state.scenario.model_dump(mode="json")
    kept = {k: v for k, v in (data[PART] or {}).items() if k not in SOURCES}
    return {**data, PART: {**kept, **source}}


def _generator(state: AppState) -> None:
    with st.grid(4, min_column_width=140):
        field(state, f"{PART}.generate.jobs")
        field(state, f"{PART}.generate.mean_gap")
        with st.container():
            _measured(state)
    with st.container(horizontal=True):
        fields(state, f"{PART}.generate", "multi_gpu weights slos")
    jobs_upload(state, "Or your own jobs (CSV, or a trace of Gavel's)")


def _measured(state: AppState) -> None:
    """Draw the field of the measured jobs: two whole numbers, or empty."""
    path = (PART, "generate", "measured")
    now, wording = state.value(path), words(path)

    def commit(text: str) -> None:
        typed = text.replace(",", " ").replace("to", " ").split()
        value: Any = [int(w) for w in typed] if all(w.isdigit() for w in typed) else typed
        state.edit(path, value or None)

    shown, changed = "" if now is None else f"{now[0]} to {now[1]}", f"training-measured-{state.revision}"
    st.text_input(
        wording.title, shown, placeholder=wording.none, help=help_text(wording), **acting(changed, commit)
    )
    field_error(state, path)


def _trace(state: AppState) -> None:
    names = _traces(state)
    field(state, f"{PART}.trace", choices={name: name for name in names})
    _first_jobs(state)
    jobs_upload(state, "Another file of jobs")


SHOWN_JOBS = 5


def _first_jobs(state: AppState) -> None:
    """Show the first jobs of the file as they were read, or what is wrong with it."""
    spec = state.scenario.training
    if spec is None or spec.trace is None:
        return
    try:
        jobs = prepare_training(state.scenario, state.uploads.sources).jobs
    except NonaError as error:
        show_error(error)
        return
    st.caption(f"{count_text(len(jobs), 'job')}; the first ones:")
    alt = "The first jobs of the file, with their GPUs, lengths and arrivals"
    rows = [
        {
            "name": job.name,
            "model": job.model,
            "length": _length(job),
            "GPUs": str(job.workers),
            "arrival": hours_text(job.arrival_s),
            "deadline": "" if job.slo_s is None else hours_text(job.slo_s),
        }
        for job in jobs[:SHOWN_JOBS]
    ]
    table(of_mappings(rows), "training-first-jobs", alt)


def _length(job: TrainingJob) -> str:
    return f"{hours_text(job.steps)} on {job.timed_on}" if job.timed_on else f"{job.steps:,.0f} steps"


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
    table(of_mappings(rows), "training-listed", alt)


def _traces(state: AppState) -> list[str]:
    return [n for n in state.uploads.names() if n.lower().endswith(ENDINGS)]


def jobs_upload(state: AppState, label: str = "Your jobs (CSV, or a trace of Gavel's)") -> None:
    """Draw the upload of a file of jobs, which becomes their source, and what such a file looks like."""
    hint = words(f"{PART}.trace").about
    take = partial(take_jobs, state)
    upload(state, label, f"training-trace-{state.revision}", "training-trace", take, hint)
    with st.popover("What the file looks like", icon=":material/table_rows:"):
        st.code(TEMPLATE, language=None)
        download_button("Download it as a template", "training-template", TEMPLATE.encode(), "jobs.csv")


def take_jobs(state: AppState, name: str, data: bytes) -> None:
    """Take a file of jobs that can run on the cluster; raises ``NonaError`` for another one."""
    name = name if name.lower().endswith(ENDINGS) else f"{name}.trace"
    if is_trace(name):
        read_trace(data, name)
    else:
        read_job_table(data, name)
    kept = state.uploads.add(name, data)
    source, before = {"trace": kept}, state.scenario
    prepare_training(edited(before, _with_source(state, source)), state.uploads.sources)
    _take_source(state, source)
    state.notify(f"The jobs of {kept} are those of the scenario now.")


GROUPS = ("cluster", "servers")
PRICES = ("training", "prices")


def _gpu_fields(state: AppState) -> None:
    groups = state.scenario.cluster.servers
    names = [*devices(), *state.scenario.cluster.devices]
    for place, group in enumerate(groups):
        path = (*GROUPS, place)
        with st.grid(5, min_column_width=118):
            field(state, (*path, "gpu"), choices={name: name for name in names})
            field(state, (*path, "count"))
            field(state, (*path, "gpus"), more="Jobs on several GPUs are fastest within one server.")
            _price(state, group.gpu, place)
            if len(groups) > 1:
                with st.container(vertical_alignment="bottom", height="stretch"):
                    st.button(
                        "Remove",
                        icon=":material/delete:",
                        key=f"training-remove-{state.revision}-{place}",
                        on_click=remove_group,
                        args=(state, place),
                        help="Removes these servers from the cluster. Undo brings them back.",
                    )
    st.caption(plain(cost_note(state.scenario)))
    hint = "Adds four servers with a GPU type that the cluster does not have yet."
    button("Add a type of GPU", "training-add-gpus", _add, state, names, icon="add", hint=hint)


def _price(state: AppState, gpu: str, number: int) -> None:
    spec = state.scenario.training
    prices = dict(spec.prices) if spec else {}
    listed = listed_prices().get(gpu)
    key = f"training-price-{state.revision}-{number}-{gpu}"

    def commit() -> None:
        value = st.session_state[key]
        own = {**prices, gpu: value} if value is not None else {k: v for k, v in prices.items() if k != gpu}
        state.edit(PRICES, own)

    st.number_input(
        words(PRICES).title,
        0.0,
        1e6,
        prices.get(gpu),
        0.1,
        format="%.2f",
        key=key,
        placeholder=f"{listed.usd_per_hour:.2f}" if listed else "none",
        on_change=commit,
        help=f"{words(PRICES).about} {_listed_text(listed)}",
    )


def _listed_text(listed: Price | None) -> str:
    if listed is None:
        return "Empty: no price is shipped, so this GPU costs nothing."
    origin = plain(f"{listed.source}, {listed.date}")
    return f"Empty: the shipped price, \\${listed.usd_per_hour:.2f} ({origin})."


def _add(state: AppState, names: list[str]) -> None:
    groups = state.scenario.cluster.servers
    used = {g.gpu for g in groups}
    preferred = [n for n in ("v100", "p100", "k80", *names) if n in names and n not in used]
    replace_groups(state, [*range(len(groups))], {"count": 4, "gpu": (preferred or names)[0]})


def _first_regions(count: int) -> dict[str, Any]:
    """Regions to begin with: the first group of servers in one, the others in another one.

    >>> _first_regions(3)
    {'groups': {'east': [0], 'west': [1, 2]}}
    """
    others = {"west": list(range(1, count))} if count > 1 else {}
    return {"groups": {"east": [0], **others}}


def _region_fields(state: AppState) -> None:
    with st.grid(4, min_column_width=150):
        for number in range(len(state.scenario.cluster.servers)):
            with st.container():
                _region(state, number)
        field(state, f"{PART}.regions.bandwidth")
        field(state, f"{PART}.regions.rtt")
    field_error(state, REGION_GROUPS)
    field(state, f"{PART}.regions.move")


def _region(state: AppState, number: int) -> None:
    group, groups = state.scenario.cluster.servers[number], groups_of(state)
    key = f"training-region-{state.revision}-{number}"
    now = next((name for name, numbers in groups.items() if number in numbers), "")

    def commit() -> None:
        if not late(state, int(key.split("-")[2])):
            state.edit(REGION_GROUPS, moved(groups, number, str(st.session_state[key] or "").strip()))

    st.text_input(
        f"Region of group {number}: {group.count * group.gpus} {label_text(group.gpu)}",
        now,
        key=key,
        on_change=commit,
        help="Name of the region that these servers are in. A job runs in one region at a time.",
    )


def moved(groups: Groups, number: int, region: str) -> dict[str, list[int]]:
    """Regions with the group ``number`` in ``region`` ("": in none); regions without a group are left out.

    >>> moved({"east": [0], "west": [1, 2]}, 1, "east"), moved({"east": [0]}, 0, "north")
    ({'east': [0, 1], 'west': [2]}, {'north': [0]})
    """
    regions = {name: [n for n in numbers if n != number] for name, numbers in groups.items()}
    if region:
        regions[region] = sorted([*regions.get(region, []), number])
    return {name: numbers for name, numbers in regions.items() if numbers}


SWITCHES = {
    "failures": ("mtbf checkpoint restart interval",),
    "moves": ("save network load warmup", "charge", "overhead horizon"),
    "regions": (),
    "estimates": ("error bias prior flag", "correct"),
    "estimator": ("profiled rank ridge",),
}


def _switch_fields(state: AppState) -> None:
    st.caption("Switches: what else the simulation models.")
    undo, on = "Undo brings back the settings that this removes.", []
    with st.container(horizontal=True):
        for name in SWITCHES:
            given = _first_regions(len(state.scenario.cluster.servers)) if name == "regions" else {}
            on += [name] * switch(state, f"{PART}.{name}", given, undo)
    for name in on:
        with st.container(key=f"training-switch-{name}"):
            st.markdown(f"**{words((PART, name)).title}**")
            if name == "regions":
                _region_fields(state)
            for row in SWITCHES[name]:
                form(state, f"{PART}.{name}", row, columns=4 if " " in row else 1)


def controls(state: AppState) -> None:
    """All controls; their values are part of the scenario, so the file and the shell have them too."""
    _job_source_fields(state)
    with st.expander("GPUs and prices", icon=":material/dns:"):
        _gpu_fields(state)
    pick_entries(
        state, "training-policies", (PART, "policies"), policy_entries(POLICIES, "Training policies")
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        option_popover(state, "training-options", (PART, "policies"), POLICIES)
        can = ", ".join(p.name for p in POLICIES.values() if p.space_sharing) or "none yet"
        field(state, f"{PART}.space_sharing", more=f"For policies that can: {can}.")
    with st.grid(4, min_column_width=140):
        field(state, "simulation.replications")
        field(state, "seed")
    with st.expander("Rounds, and what else is modelled", icon=":material/tune:"):
        form(state, PART, "round reallocation throughputs", 3, 140)
        _switch_fields(state)


def summary(scenario: Scenario) -> list[str]:
    """Return the settings in one line."""
    spec = scenario.training
    if spec is None:
        return []
    gpus: dict[str, int] = {}
    for g in scenario.cluster.servers:
        gpus[g.gpu] = gpus.get(g.gpu, 0) + g.count * g.gpus
    return [
        jobs_text(spec),
        " + ".join(f"{n} {t}" for t, n in sorted(gpus.items())),
        listed([p.name for p in spec.policies]),
        "space sharing" if spec.space_sharing else "",
        "nodes fail" if spec.failures else "",
        "moves cost time" if spec.moves else "",
        count_text(len(spec.regions.groups), "region") if spec.regions else "",
        "users' estimates" if spec.estimates else "",
        "estimated pairs" if spec.estimator else "",
        f"rounds of {hours_text(spec.round)}",
        count_text(scenario.simulation.replications, "run"),
        f"seed {scenario.seed}",
    ]
