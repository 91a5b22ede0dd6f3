"""Assumptions of the times on the page: device, stack, given and measured times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from nona.app.form import field
from nona.app.models.loading import device_names, load_graph, load_measured
from nona.app.session.state import AppState
from nona.app.widgets.downloads import download_button
from nona.app.widgets.fields import (
    acting,
    button,
    label_text,
    plain,
    selector,
    show_error,
    stored_name,
    upload,
)
from nona.core.errors import NonaError
from nona.models.cost.measured import LOW_LOAD, MeasuredTable, read_measured
from nona.models.cost.options import CostOptions, stacks
from nona.models.cost.stated import has_given_times
from nona.models.graph.model import ANY_DEVICE, ModelGraph
from nona.scenario.provenance import runs_as
from nona.scenario.schema import GivenSpec


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """The device on which times are shown; empty: the first of the cluster. ``among``: the cluster's then."""

    name: str = ""
    among: tuple[str, ...] = ()


def pick_times(state: AppState) -> tuple[str, DeltaGenerator]:
    """Return the button that names the device, and what is behind it."""
    device = _device(state)
    stranger = "" if device in _in_cluster(state) else ", not in the cluster"
    box = st.popover(
        f"Times on: **{plain(device)}**{stranger}" + (" + measured" if state.scenario.cost.measured else ""),
        icon=":material/timer:",
        help="This page shows times for this GPU; the scenario does not change.",
    )
    with box:
        _pick_device(state, device)
    return device, box


def pick_precision(state: AppState) -> None:
    """Draw the button that says how the scenario's models run; behind it stack and precision."""
    box = st.popover(
        f"Runs as: **{plain(runs_as(state.scenario))}**",
        icon=":material/memory:",
        help="Software and precision of all models of the scenario.",
    )
    with box:
        field(state, "cost.stack")
        field(state, "cost.precision")
        st.caption(plain(f"{stacks()[state.scenario.cost.stack].tf32_source}."))


def _in_cluster(state: AppState) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group.gpu for group in state.scenario.cluster.servers))


def _device(state: AppState) -> str:
    """Return the chosen device; the cluster's first where none was chosen or the choice left the cluster."""
    names, here, chosen = device_names(state.scenario), _in_cluster(state), state.choices.get(DeviceChoice)
    has_left = chosen.name in chosen.among and chosen.name not in here
    kept = here[0] if has_left or not chosen.name else chosen.name
    return kept if kept in names else names[0]


def _pick_device(state: AppState, shown: str) -> None:
    names = device_names(state.scenario)
    hint = "The GPU for the times on this page; the cluster's GPUs are set on page Scenario."

    def choose(name: str) -> None:
        state.choices.keep(DeviceChoice(name, _in_cluster(state)))

    selector("Times on device", names, shown, "device", choose, hint)


PATH = ("cost", "given")
SEVERAL = "several devices"


def given_section(state: AppState, device: str) -> None:
    """Draw the expander about given times; ``device`` is the one whose times the page shows."""
    try:
        graph = load_graph(state, state.model)
    except NonaError:  # the page says it below
        return
    if not has_given_times(graph):
        return
    spec = state.scenario.cost.given.get(state.model, GivenSpec())
    stated = _stated(graph)
    timed_on = spec.device or stated
    with st.expander(
        f"Given times: on {plain(_name(timed_on))}", icon=":material/speed:", expanded=timed_on is None
    ):
        st.caption(
            "The file states times. On another GPU or slice they are scaled by what bounds each task: "
            "arithmetic, memory bandwidth, or the host. Times that hold on any device are not scaled."
        )
        left, right = st.columns(2)
        with left:
            _given_device(state, spec, stated)
        if timed_on not in (None, "any", SEVERAL, device):
            with right:
                _factor(state, device, spec, str(timed_on))


def _name(device: str | None) -> str:
    return {None: "no named device, so the same times everywhere", "any": "any device alike"}.get(
        device, str(device)
    )


def _stated(graph: ModelGraph) -> str | None:
    """Return the device that the file names, or ``SEVERAL``; ``None`` where it names none.

    >>> from nona.models.graph.model import Operator
    >>> _stated(ModelGraph("g", (Operator("a", compute_s={"t4": 1.0, "a30": 2.0}),), ()))
    'several devices'
    """
    if graph.device is not None:
        return "any" if graph.device == ANY_DEVICE else graph.device
    own = {d for o in graph.operators for d in o.compute_s or () if d != ANY_DEVICE}
    return SEVERAL if len(own) > 1 else next(iter(own), None)


def _given_device(state: AppState, spec: GivenSpec, stated: str | None) -> None:
    names = dict.fromkeys([spec.device or "", stated or "", *device_names(state.scenario)])
    options = {f"As in the file: {_name(stated)}": None, "Any device alike": "any"}
    options |= {n: n for n in names if n not in ("", "any", SEVERAL)}
    st.selectbox(
        "The times hold on",
        list(options),
        list(options.values()).index(spec.device),
        **acting(
            f"given-device-{state.revision}-{state.model}",
            lambda name: _edit(state, options[name], spec.factors),
        ),
        help="Where the file gives a task times for several devices, they are kept.",
    )


def _factor(state: AppState, device: str, spec: GivenSpec, reference: str) -> None:
    factor = spec.factors.get(device)

    def choose(typed: str) -> None:
        text = typed.strip()
        others: dict[str, object] = {k: v for k, v in spec.factors.items() if k != device}
        _edit(state, spec.device, others | ({device: text} if text else {}))

    st.text_input(
        f"Time on {label_text(device)} over that on {label_text(reference)}",
        "" if factor is None else f"{factor:g}",
        placeholder="modelled",
        **acting(f"given-factor-{state.revision}-{state.model}-{device}", choose),
        help="Your own ratio replaces the modelled one. Empty: modelled.",
    )
    if draft := state.drafts.get(PATH):
        st.error(plain(draft.error), icon=":material/error:")


def _edit(state: AppState, device: str | None, factors: Mapping[str, object]) -> None:
    """Keep what was said of the session's model; one of which nothing is said is dropped."""
    given: dict[str, object] = {
        k: v.model_dump() for k, v in state.scenario.cost.given.items() if k != state.model
    }
    if device is not None or factors:
        given[state.model] = {"device": device, "factors": dict(factors)}
    state.edit(PATH, given)


ENDING = ".measured.csv"
EXAMPLE = "model,operator,device,ms"


def measured_times(state: AppState, device: str) -> None:
    """Draw the expander of the measured times; ``device`` is the one whose times the page shows."""
    name = state.scenario.cost.measured
    opened = bool(name or state.choices.complaints.get("measured-error"))
    title = "Measured times" + (f": {plain(name)}" if name else "")
    with st.expander(title, icon=":material/timer:", expanded=opened):
        called = _name_in_tables(state)
        st.caption(
            f"A CSV table with the columns {plain(EXAMPLE)}; its "
            "times replace modelled ones. An operator named \\* stands for the whole model."
            + (f" This model is called **{plain(called)}** there." if called else "")
        )
        st.caption(f"{LOW_LOAD[0].upper()}{LOW_LOAD[1:]}.")
        hint = "Its times replace the modelled ones wherever it has them."
        upload(state, "Table (CSV)", "measured-file", "measured-error", partial(take_measured, state), hint)
        if name:
            _present(state, name, called, device)


def _present(state: AppState, name: str, called: str, device: str) -> None:
    try:
        measured = load_measured(state)
    except NonaError as error:
        show_error(error)
        measured = None
    if measured is not None:
        st.success(
            plain(coverage(measured[1], name, called or state.model, device, _options(state))),
            icon=":material/check:",
        )
        st.caption("The scenario's YAML only names this file; a bundle (*File* in the side bar) contains it.")
    with st.container(horizontal=True):
        button("Use no measured times", "no-measured", _remove, state, icon="delete")
        if measured is not None:
            table = partial(state.uploads.sources.read, name)
            download_button("Download the CSV", "download-measured", table, name)


def coverage(table: MeasuredTable, name: str, model: str, device: str, options: CostOptions) -> str:
    r"""Describe the table, and how much of it is for this model on this device.

    >>> table = read_measured("model,operator,device,ms\nnet,conv,a30,0.5\n")
    >>> coverage(table, "t.csv", "other", "a30", CostOptions())
    't.csv: 1 time on a30; 0 of them for other on a30 as chosen above.'
    """
    count = len(table.rows)
    devices = ", ".join(sorted({row.device for row in table.rows}))
    here = len(table.times(model, device, options))
    times = f"{count:,} time{'' if count == 1 else 's'}"
    return f"{name}: {times} on {devices}; {here:,} of them for {model} on {device} as chosen above."


def _name_in_tables(state: AppState) -> str:
    try:
        return load_graph(state, state.model).name
    except NonaError:  # the page says it below
        return ""


def _options(state: AppState) -> CostOptions:
    cost = state.scenario.cost
    return CostOptions(cost.stack, cost.precision)


def take_measured(state: AppState, name: str, data: bytes) -> None:
    """Take a table of measured times; raises ``NonaError`` for another file."""
    read_measured(data)
    kept = state.uploads.add(stored_name(name, ENDING), data)
    if state.edit(("cost", "measured"), kept):
        state.notify(f"The measured times of {kept} are used from now on; see", "simulation", "Simulation")


def _remove(state: AppState) -> None:
    state.choices.complaints.pop("measured-error", None)
    state.edit(("cost", "measured"), None)
