"""The form: SLO, load, sharing, policies, size, and the platform's own settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from nona.app.form import field, fields, form
from nona.app.session.editing import PlacePath, ScenarioText
from nona.app.session.state import AppState
from nona.app.widgets.fields import listed, plain
from nona.app.widgets.policy_choice import option_popover, pick_entries, policy_entries
from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.errors import NonaError
from nona.core.text import count_text
from nona.planning.servers import cost_note
from nona.scenario.schema import Scenario
from nona.scenario.words import words
from nona.serverless.policies.registry import POLICIES
from nona.serverless.workflows.preparation import prices_by_gpu

OWN, ROWS = "own", "rows"


@dataclass(frozen=True, slots=True)
class Preset:
    """A setting with named values; beside them a value of one's own, and what each row has."""

    key: str
    label: str
    path: PlacePath
    values: Mapping[str, Any]
    texts: Mapping[str, str]
    hint: str


SLO = Preset(
    "slo-preset",
    "SLO",
    ("serverless", "slo_factor"),
    {"strict": 0.8, "moderate": 1.0, "relaxed": 1.2},
    {"strict": "strict 0.8 L", "moderate": "moderate 1 L", "relaxed": "relaxed 1.2 L"},
    "The deadline from a call's arrival to its last stage's end, as a multiple of L. L is the workflow's "
    "time with every function at batch 1, 1 vCPU, 1 vGPU. "
    "Strict 0.8 L, moderate 1.0 L, relaxed 1.2 L (from the "
    "ESG slides); as in the workload: each row's own SLO.",
)
LOAD = Preset(
    "load-preset",
    "Load",
    ("serverless", "interval"),
    {
        "light": {"least": "40 ms", "most": "67.2 ms"},
        "normal": {"least": "20 ms", "most": "33.6 ms"},
        "heavy": {"least": "10 ms", "most": "16.8 ms"},
    },
    {"light": "light", "normal": "normal", "heavy": "heavy"},
    "Gaps between calls of all workflows together, drawn uniformly: light 40 to 67.2 ms, normal 20 to 33.6 "
    "ms, heavy 10 to 16.8 ms. Recollected from the ESG paper, not confirmed. As in the workload: each row's "
    "own rate and arrival process.",
)


@dataclass(frozen=True, slots=True)
class CustomSettings:
    """The settings that stand at ``own``, even while their values are those of a named one."""

    keys: frozenset[str] = frozenset()


def preset_of(scenario: Scenario, preset: Preset) -> str:
    """Name what a setting of the scenario is: a preset, ``own``, or ``rows``."""
    value = ScenarioText(scenario).value_at(preset.path) if scenario.serverless else None
    return ROWS if value is None else next((n for n, named in preset.values.items() if named == value), OWN)


def preset_name(state: AppState, preset: Preset) -> str:
    """Return the same, where a preset's value may be meant as one's own."""
    named = preset_of(state.scenario, preset)
    return OWN if named != ROWS and preset.key in state.choices.get(CustomSettings).keys else named


def choose_preset(state: AppState, preset: Preset) -> bool:
    """Return the choice among the named values, one's own and the rows'; whether it is one's own."""
    shown, drawn = preset_name(state, preset), state.revision
    texts = {**preset.texts, OWN: "own", ROWS: "as in the workload"}
    key = f"{preset.key}-{drawn}-{shown}"

    def commit() -> None:
        if state.revision != drawn:
            return  # the demo, say, has opened another scenario meanwhile
        name = next((n for n, t in texts.items() if t == st.session_state[key]), shown)
        own_keys = state.choices.get(CustomSettings).keys - {preset.key}
        state.choices.keep(CustomSettings(own_keys | {preset.key} if name == OWN else own_keys))
        usual = list(preset.values.values())[1]
        own = (state.value(preset.path) or usual) if name == OWN else None
        state.edit(preset.path, preset.values.get(name, own))

    st.segmented_control(
        preset.label,
        list(texts.values()),
        default=texts[shown],
        required=True,
        key=key,
        help=preset.hint,
        on_change=commit,
    )
    return shown == OWN


PART = "serverless"
VGPUS_HELP = "Each GPU is 7 vGPUs, or as many as its MIG board has slices."
PLATFORM = {
    "containers": "warm prewarm spare ewma_weight keep_alive",
    "memory": "limit node container overhead",
    "dispatch": "first later order rechecks blocking late partial",
    "configurations": "batch vcpus vgpus",
}


def _platform_controls(state: AppState) -> None:
    with st.expander("Platform: nodes, prices, containers, dispatch", icon=":material/dns:"):
        _nodes(state)
        for name, shown in PLATFORM.items():
            st.markdown(f"**{words((PART, name)).title}**")
            form(state, f"{PART}.{name}", shown, width=180)
        if spec := state.scenario.serverless:
            c = spec.configurations
            n = len(c.batch) * len(c.vcpus) * len(c.vgpus)
            st.caption(f"{n} configurations per function; the grid is assumed, the paper says 256.")


def _price_by_server(state: AppState) -> None:
    try:
        prices = prices_by_gpu(state.scenario)
    except NonaError as error:
        state.notice = str(error)
        return
    state.change((PART, "prices"), prices.model_dump())


def _nodes(state: AppState) -> None:
    st.markdown("**Nodes, prices, noise**")
    st.caption(plain(cost_note(state.scenario)))
    with st.grid(3, min_column_width=180):
        field(state, "cluster.servers.0.vcpus", "vCPUs per node")
        field(state, "cluster.servers.0.gpus", "GPUs per node", VGPUS_HELP)
        fields(state, PART, "noise prices.vcpu_hour prices.vgpu_hour")
        with st.container(vertical_alignment="bottom", height="stretch"):
            st.button(
                "Price by the server",
                icon=":material/payments:",
                key="serverless-price-by-server",
                on_click=_price_by_server,
                args=(state,),
                help="Each vGPU costs its share of the server's price on page Plan; vCPUs cost no more.",
            )
        fields(state, PART, "idle_cost transfer.remote transfer.remote_bandwidth")
        if state.scenario.serverless and state.scenario.serverless.transfer.remote == "network":
            field(state, "cluster.network.capacity", "Network capacity")
            field(state, "background.network.utilization", "Background on the network")
            field(state, "cluster.network.nic", "Card of a node")


def controls(state: AppState) -> None:
    """All controls; their values are part of the scenario, so the file and the shell have them too."""
    with st.container(horizontal=True, gap="medium"):
        with st.container(width="content"):
            if choose_preset(state, SLO):
                field(state, SLO.path)
        with st.container(width="content"):
            if choose_preset(state, LOAD):
                form(state, "serverless.interval", "least most", columns=2)
    registered = policy_entries(POLICIES, "Serverless policies")
    pick_entries(state, "serverless-policies", (PART, "policies"), registered)
    _size(state)
    if _mode_asks(state):
        with st.grid(3, min_column_width=200):
            _mode_fields(state)
    with st.container(horizontal=True):
        option_popover(state, "policy-options", (PART, "policies"), POLICIES)
    _platform_controls(state)


def summary(scenario: Scenario) -> list[str]:
    """Return the settings in one line."""
    spec, size = scenario.serverless, scenario.simulation
    if spec is None:
        return []
    slo, load = preset_of(scenario, SLO), preset_of(scenario, LOAD)
    return [
        listed([p.name for p in spec.policies]),
        "each row's SLO" if slo == ROWS else f"{slo} SLO",
        "each row's rate" if load == ROWS else f"{load} load",
        SHARING_MODES.find(spec.sharing.mode).title,
        count_text(scenario.cluster.servers[0].count, "node"),
        f"{size.jobs:,} calls × {count_text(size.replications, 'run')}",
        f"seed {scenario.seed}",
    ]


def _mode_asks(state: AppState) -> bool:
    spec = state.scenario.serverless
    way = None if spec is None else SHARING_MODES.find(spec.sharing.mode)
    return way is not None and (bool(way.requires) or way.fixed_layout)


def _mode_fields(state: AppState) -> None:
    spec = state.scenario.serverless
    if spec is None:
        return
    way = SHARING_MODES.find(spec.sharing.mode)
    fields(state, f"{PART}.sharing", "reconfiguration oversubscription interference")
    if way.fixed_layout:
        with st.container():
            st.caption("The slices are those of the servers on page Scenario.")
            st.page_link("pages/scenario.py", label="Change the slices", icon=":material/dns:")


def _size(state: AppState) -> None:
    with st.grid(5, min_column_width=146):
        field(state, f"{PART}.sharing.mode")
        field(state, "simulation.jobs", "Calls measured per run")
        field(state, "simulation.replications")
        field(state, "seed")
        field(state, "cluster.servers.0.count", "Nodes", "Each node has its own vCPUs and GPUs.")
