"""The form of the Training page: jobs, GPUs and prices, policies, rounds, switches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from nona.allocation.registry import POLICIES
from nona.errors import NonaError
from nona.hardware.device import devices
from nona.planning.prices import Price, listed_prices
from nona.report.text import counted
from nona.report.training.findings import hours_text, jobs_text
from nona.study.costs import cost_note
from nona.ui.pages.scenario_edits import REGION_GROUPS, Groups, groups_of, remove_group, replace_groups
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, count, label_text, late, number, plain, quantity, switch, toggle
from nona.ui.widgets.folding import listed, summary_bar
from nona.ui.widgets.policy_choice import option_popover, pick_entries, policy_entries
from nona.ui.widgets.results import table

PART = "training"
ENDINGS = (".trace", ".csv", ".tsv", ".txt")
SOURCES = {"generate": "generator", "trace": "trace", "jobs": "list in the scenario"}
TRACE_HELP = (
    "Gavel's format: ten columns with tabs between them, a line for each job. CSV: a first line with the "
    "names of the columns, such as name, model, steps, workers, arrival_s."
)


def _source_of(state: AppState) -> str:
    """Name the source of jobs that the scenario uses."""
    spec = state.scenario.training
    if spec is None or spec.generate is not None:
        return "generate"
    return "trace" if spec.trace is not None else "jobs"


def _job_fields(state: AppState) -> None:
    """Draw the choice of the source of jobs, and the fields of that source."""
    shown = _source_of(state)
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


GROUPS = ("cluster", "servers")
PRICES = ("training", "prices")


def _gpu_fields(state: AppState) -> None:
    """Type, servers, GPUs of a server and price of each group; the network is on the page Cluster."""
    groups = state.scenario.cluster.servers
    names = [*devices(), *state.scenario.cluster.devices]
    for place, group in enumerate(groups):
        path = (*GROUPS, place)
        with st.grid(5, min_column_width=118):
            with st.container():
                choice(state, "GPU", (*path, "gpu"), names, "Type of the GPUs of these servers.")
            with st.container():
                count(state, "Servers", (*path, "count"), 1, 100_000, "Servers of this kind.")
            with st.container():
                hint = "GPUs of each server. Jobs on several GPUs are fastest within one server."
                count(state, "GPUs per server", (*path, "gpus"), 1, 64, hint)
            with st.container():
                _price(state, group.gpu, place)
            if len(groups) > 1:
                with st.container(vertical_alignment="bottom", height="stretch"):
                    st.button(
                        "Remove",
                        icon=":material/delete:",
                        key=f"training-remove-{state.revision}-{place}",
                        on_click=remove_group,
                        args=(state, place),
                        help="Takes these servers out of the cluster; Undo brings them back.",
                    )
    st.caption(plain(cost_note(state.scenario)))
    st.button(
        "Add a type of GPU",
        icon=":material/add:",
        key="training-add-gpus",
        on_click=_add,
        args=(state, names),
        help="Adds a group of four servers with a type of GPU that the cluster does not have yet.",
    )


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
        "Price, $/h",
        0.0,
        1e6,
        prices.get(gpu),
        0.1,
        format="%.2f",
        key=key,
        placeholder=f"{listed.usd_per_hour:.2f}" if listed else "none",
        on_change=commit,
        help=f"US dollars an hour for one GPU of this type, in every group. {_listed_text(listed)}",
    )


def _listed_text(listed: Price | None) -> str:
    if listed is None:
        return "Empty: it costs nothing, because no price is shipped."
    origin = plain(f"{listed.source}, {listed.date}")
    return f"Empty: the shipped price, \\${listed.usd_per_hour:.2f} ({origin})."


def _add(state: AppState, names: list[str]) -> None:
    groups = state.scenario.cluster.servers
    used = {g.gpu for g in groups}
    preferred = [n for n in ("v100", "p100", "k80", *names) if n in names and n not in used]
    replace_groups(state, [*range(len(groups))], {"count": 4, "gpu": (preferred or names)[0]})


REGIONS = ("training", "regions")


def _first_regions(count: int) -> dict[str, Any]:
    """Regions to begin with: the first group of servers in one, the others in another one.

    >>> _first_regions(3)
    {'groups': {'east': [0], 'west': [1, 2]}}
    """
    others = {"west": list(range(1, count))} if count > 1 else {}
    return {"groups": {"east": [0], **others}}


def _region_fields(state: AppState) -> None:
    """The region of each group of servers, the network between regions, whether jobs move."""
    with st.grid(4, min_column_width=150):
        for number in range(len(state.scenario.cluster.servers)):
            with st.container():
                _region(state, number)
        with st.container():
            quantity(state, "Bandwidth between regions", (*REGIONS, "bandwidth"), "Of a move between two.")
        with st.container():
            quantity(state, "RTT between regions", (*REGIONS, "rtt"), "Round-trip time, added to each move.")
    draft = state.drafts.get(REGION_GROUPS)
    if draft:
        st.error(plain(draft.error), icon=":material/error:")
    hint = (
        "Jobs go to another region when the planner finds that more is gained before the next change than "
        "the move costs. Off: its advice is only shown."
    )
    toggle(state, "Jobs move between regions", (*REGIONS, "move"), hint)


def _region(state: AppState, number: int) -> None:
    """The name of the region of one group of servers."""
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


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch: its key in the scenario, its label and help, and the fields that it brings."""

    key: str
    label: str
    help: str
    fields: Callable[[AppState], None]


def _switch_fields(state: AppState) -> None:
    """A toggle for each switch, then the fields of those that are on."""
    st.caption("Switches: what else the simulation takes into account.")
    on: list[Switch] = []
    with st.container(horizontal=True):
        for each in SWITCHES:
            hint = f"{each.help} Undo brings back what turning it off removed."
            if switch(state, each.label, (PART, each.key), _made(state, each.key), hint):
                on.append(each)
    for each in on:
        with st.container(key=f"training-switch-{each.key}"):
            st.markdown(f"**{each.label}**")
            each.fields(state)


def _made(state: AppState, key: str) -> Mapping[str, Any]:
    return _first_regions(len(state.scenario.cluster.servers)) if key == "regions" else {}


def _failures(state: AppState) -> None:
    path = (PART, "failures")
    with st.grid(4, min_column_width=150):
        with st.container():
            quantity(state, "Mean time between failures", (*path, "mtbf"), "Of one node; exponential.")
        with st.container():
            quantity(state, "Checkpoint takes", (*path, "checkpoint"), "Time to save one checkpoint.")
        with st.container():
            quantity(state, "Restart takes", (*path, "restart"), "Time from a failure until work goes on.")
        with st.container():
            hint = (
                "Work between two checkpoints: by Daly's or Young's formula, the best by simulation, or a "
                "time that you type, such as 20 min."
            )
            intervals = {
                "Daly's formula": "daly",
                "Young's formula": "young",
                "the best by simulation": "best",
            }
            choice(state, "Checkpoint interval", (*path, "interval"), intervals, hint, own=True)


def _moves(state: AppState) -> None:
    path = (PART, "moves")
    with st.grid(4, min_column_width=150):
        with st.container():
            quantity(state, "Saving", (*path, "save"), "Bandwidth at which a checkpoint is saved.")
        with st.container():
            quantity(state, "Sending", (*path, "network"), "Bandwidth at which a checkpoint is sent.")
        with st.container():
            quantity(state, "Loading", (*path, "load"), "Bandwidth at which a checkpoint is loaded.")
        with st.container():
            quantity(state, "Warm-up", (*path, "warmup"), "Time from a loaded checkpoint to the first step.")
    hint = (
        "A new allocation is taken only if what it gains within the horizon exceeds the steps that its moves "
        "lose; a job that was moved keeps its GPUs for a while."
    )
    toggle(state, "Policies are charged for moves", (*path, "charge"), hint)
    spec = state.scenario.training
    if spec is None or spec.moves is None or not spec.moves.charge:
        return
    with st.grid(4, min_column_width=150):
        with st.container():
            hint = "Largest share of a job's time on its GPUs that a move may take, such as 5 %."
            quantity(state, "Overhead", (*path, "overhead"), hint)
        with st.container():
            hint = "Time within which a new allocation must pay off; empty: the time between two allocations."
            quantity(state, "Horizon", (*path, "horizon"), hint, optional=True)


def _estimates(state: AppState) -> None:
    path = (PART, "estimates")
    with st.grid(4, min_column_width=150):
        with st.container():
            hint = "Factor by which a claim is off, at one standard deviation of its logarithm; 1: never."
            number(state, "Error, factor", (*path, "error"), 1.0, 100.0, 0.1, hint)
        with st.container():
            hint = "The same for a factor that all claims of one user (team) share; 1: none."
            number(state, "Bias of a user, factor", (*path, "bias"), 1.0, 100.0, 0.1, hint)
        with st.container():
            hint = "How many measured rounds a claim counts for, where claims are corrected."
            number(state, "Weight of a claim, rounds", (*path, "prior"), 0.01, 1000.0, 1.0, hint)
        with st.container():
            hint = "A job is flagged when its claim is off by more than this factor after 3 rounds."
            number(state, "Flag above, factor", (*path, "flag"), 1.01, 100.0, 0.1, hint)
    hint = "Rounds measure rates, and claims are corrected by them. Off: policies believe the claims."
    toggle(state, "Claims are corrected", (*path, "correct"), hint)


def _estimator(state: AppState) -> None:
    path = (PART, "estimator")
    with st.grid(4, min_column_width=150):
        with st.container():
            hint = "Share of a new job's pairs that are measured before it starts, such as 20 %."
            quantity(state, "Profiled pairs", (*path, "profiled"), hint)
        with st.container():
            count(state, "Rank", (*path, "rank"), 1, 100, "Rank of the matrix completion.")
        with st.container():
            hint = "Weight of the ridge penalty in the matrix completion."
            number(state, "Ridge", (*path, "ridge"), 0.0001, 100.0, 0.01, hint, digits="%g")


SWITCHES = (
    Switch("failures", "Failures", "Nodes fail; jobs go on from their last checkpoint.", _failures),
    Switch("moves", "Moves cost time", "A change of GPUs saves, sends and loads a checkpoint.", _moves),
    Switch("regions", "Regions", "Server groups are far apart; moves between them are slow.", _region_fields),
    Switch(
        "estimates",
        "Users' estimates",
        "Policies see the rates that users claim, which are wrong by a factor.",
        _estimates,
    ),
    Switch(
        "estimator",
        "Estimated pairs",
        "Rates of two jobs on one GPU are estimated from a few profiled pairs. For space sharing.",
        _estimator,
    ),
)


def controls(state: AppState) -> None:
    """All controls; their values are part of the scenario, so the file and the shell have them too."""
    with summary_bar("training-controls", _summary(state), state.jobs.get("training")):
        _job_fields(state)
        _gpu_fields(state)
        _policies(state)
        with st.container(horizontal=True, vertical_alignment="center"):
            entries = state.scenario.training.policies if state.scenario.training else ()
            option_popover(state, "training-options", (PART, "policies"), entries, POLICIES.get)
            hint = (
                "Two jobs may use the same GPU, where their pair was measured. For policies that can: "
                f"{', '.join(p.name for p in POLICIES.values() if p.space_sharing) or 'none yet'}."
            )
            toggle(state, "Space sharing", (PART, "space_sharing"), hint)
        _size(state)
        _switch_fields(state)


def _summary(state: AppState) -> list[str]:
    """The settings in one line."""
    spec = state.scenario.training
    if spec is None:
        return []
    gpus: dict[str, int] = {}
    for g in state.scenario.cluster.servers:
        gpus[g.gpu] = gpus.get(g.gpu, 0) + g.count * g.gpus
    return [
        jobs_text(spec),
        " + ".join(f"{n} {t}" for t, n in sorted(gpus.items())),
        listed([p.name for p in spec.policies]),
        "space sharing" if spec.space_sharing else "",
        "nodes fail" if spec.failures else "",
        "moves cost time" if spec.moves else "",
        counted(len(spec.regions.groups), "region") if spec.regions else "",
        "users' estimates" if spec.estimates else "",
        "estimated pairs" if spec.estimator else "",
        f"rounds of {hours_text(spec.round)}",
        counted(state.scenario.simulation.replications, "run"),
        f"seed {state.scenario.seed}",
    ]


def _policies(state: AppState) -> None:
    """The choice of policies; their options are kept."""
    entries = state.scenario.training.policies if state.scenario.training else ()
    hint = "Every policy that is chosen gets the same jobs on the same GPUs."
    registered = policy_entries(POLICIES, "Training policies")
    pick_entries(state, "training-policies", "Policies", (PART, "policies"), entries, hint, registered)


def _size(state: AppState) -> None:
    with st.grid(5, min_column_width=140):
        with st.container():
            hint = "How long a job keeps its GPUs before the next choice. Gavel: 6 minutes."
            quantity(state, "Round", (PART, "round"), hint)
        with st.container():
            hint = "The least time between two allocations of a policy. Gavel: 32 minutes."
            quantity(state, "Reallocation", (PART, "reallocation"), hint)
        with st.container():
            throughputs = {"measured (Gavel)": "gavel", "modelled": "modelled"}
            hint = (
                "Steps per second of each job on each type: measured by Gavel's authors on K80, P100 and "
                "V100, or modelled by the cost layer."
            )
            choice(state, "Throughputs", (PART, "throughputs"), throughputs, hint)
        with st.container():
            hint = "Independent runs of each policy; 2 or more give intervals."
            count(state, "Replications", ("simulation", "replications"), 1, 1000, hint)
        with st.container():
            count(state, "Seed", ("seed",), 0, 2**53 - 1, "The same seed gives the same result, bit for bit.")
