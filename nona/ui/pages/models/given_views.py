"""Given times on the Models page: the device that they hold for, and factors for others."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from nona.cost.given import has_given_times
from nona.errors import NonaError
from nona.graph.model import ANY_DEVICE, ModelGraph
from nona.scenario.cost import GivenSpec
from nona.ui.loaded.loading import device_names, load_graph
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import label_text, plain

PATH = ("cost", "given")
SEVERAL = "several devices"


def given_section(state: AppState, device: str) -> None:
    """The expander about given times; ``device`` is the one whose times the page shows."""
    try:
        graph = load_graph(state, state.model)
    except NonaError:  # the page says it below
        return
    if not has_given_times(graph):
        return
    spec = state.scenario.cost.given.get(state.model, GivenSpec())
    stated = _stated(graph)
    held = spec.device or stated
    with st.expander(f"Given times: on {plain(_name(held))}", icon=":material/speed:", expanded=held is None):
        st.caption(
            "The file states times. On another GPU or slice they are scaled by what bounds each task: "
            "arithmetic, memory bandwidth, or the host. Times that hold on any device are not scaled."
        )
        left, right = st.columns(2)
        with left:
            _device(state, spec, stated)
        if held not in (None, "any", SEVERAL, device):
            with right:
                _factor(state, device, spec, str(held))


def _name(device: str | None) -> str:
    return {None: "no named device, so the same everywhere", "any": "any device alike"}.get(
        device, str(device)
    )


def _stated(graph: ModelGraph) -> str | None:
    """The device that the file names, or ``SEVERAL``; ``None`` where it names none.

    >>> from nona.graph.model import Operator
    >>> _stated(ModelGraph("g", (Operator("a", compute_s={"t4": 1.0, "a30": 2.0}),), ()))
    'several devices'
    """
    if graph.device is not None:
        return "any" if graph.device == ANY_DEVICE else graph.device
    own = {d for o in graph.operators for d in o.compute_s or () if d != ANY_DEVICE}
    return SEVERAL if len(own) > 1 else next(iter(own), None)


def _device(state: AppState, spec: GivenSpec, stated: str | None) -> None:
    names = dict.fromkeys([spec.device or "", stated or "", *device_names(state.scenario)])
    options = {f"As in the file: {_name(stated)}": None, "Any device alike": "any"}
    options |= {n: n for n in names if n not in ("", "any", SEVERAL)}
    key = f"given-device-{state.revision}-{state.model}"

    def choose() -> None:
        _edit(state, options[st.session_state[key]], spec.factors)

    st.selectbox(
        "The times hold on",
        list(options),
        list(options.values()).index(spec.device),
        key=key,
        on_change=choose,
        help="Where the file gives a task times for several devices, those stay.",
    )


def _factor(state: AppState, device: str, spec: GivenSpec, held: str) -> None:
    key = f"given-factor-{state.revision}-{state.model}-{device}"
    known = spec.factors.get(device)

    def choose() -> None:
        text = str(st.session_state[key] or "").strip()
        others: dict[str, object] = {k: v for k, v in spec.factors.items() if k != device}
        _edit(state, spec.device, others | ({device: text} if text else {}))

    st.text_input(
        f"Time on {label_text(device)} over that on {label_text(held)}",
        "" if known is None else f"{known:g}",
        placeholder="modelled",
        key=key,
        on_change=choose,
        help="A factor that you know, in place of the modelled ratio. Empty: modelled.",
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
