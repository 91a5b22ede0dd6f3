"""The form: SLO, load, sharing, policies, size, and the platform's own settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from nona.errors import NonaError
from nona.gpu_sharing.registry import WAYS
from nona.report.text import counted
from nona.scenario.serverless import LATE, ServerlessSpec
from nona.serverless.functions import MEASURED, function_names, grid, shipped_function
from nona.serverless.policies.registry import POLICIES
from nona.serverless.provenance import TAGS, provenance
from nona.study.costs import cost_note
from nona.study.serverless.preparation import prices_by_gpu
from nona.ui.session.editing import PlacePath
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, count, number, plain, quantity, share
from nona.ui.widgets.folding import listed, summary_bar
from nona.ui.widgets.policy_choice import option_popover, pick_entries, policy_entries
from nona.ui.widgets.results import table

SLO_PATH = ("serverless", "slo_factor")
LOAD_PATH = ("serverless", "interval")
OWN = "own"
SLOS = {"strict": 0.8, "moderate": 1.0, "relaxed": 1.2}
LOADS = {"light": ("40 ms", "67.2 ms"), "normal": ("20 ms", "33.6 ms"), "heavy": ("10 ms", "16.8 ms")}
SLO_HELP = (
    "The deadline from a call's arrival to its last stage's end, as a multiple of L: the workflow's time "
    "with every function at batch 1, 1 vCPU, 1 vGPU. Strict 0.8 L, moderate 1.0 L, relaxed 1.2 L (from the "
    "ESG slides); as on Workload: each row's own SLO."
)
LOAD_HELP = (
    "Gaps between calls of all workflows together, drawn uniformly: light 40 to 67.2 ms, normal 20 to 33.6 "
    "ms, heavy 10 to 16.8 ms. Recollected from the ESG paper, not confirmed. As on Workload: each row's own "
    "rate and arrival process."
)


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """The rows that stand at ``own``, even while their values are those of a named setting."""

    keys: frozenset[str] = frozenset()


def slo_preset(state: AppState) -> None:
    """SLO strictness: a named setting, an own factor, or the rows' own SLOs."""
    names = {"strict": "strict 0.8 L", "moderate": "moderate 1 L", "relaxed": "relaxed 1.2 L"}
    shown = slo_name(state)

    def take(name: str) -> None:
        if name in SLOS:
            state.edit(SLO_PATH, SLOS[name])
        else:
            state.edit(SLO_PATH, (state.value(SLO_PATH) or 1.0) if name == OWN else None)

    _switch(state, "SLO", "slo-preset", names, shown, take, SLO_HELP)
    if shown == OWN:
        hint = "Every workflow's SLO is this many times its L. Above 1: relaxed."
        number(state, "SLO factor", SLO_PATH, 0.05, 100.0, 0.05, hint)


def load_preset(state: AppState) -> None:
    """Load: a named setting, own gaps, or the rows' own rates."""
    shown = load_name(state)

    def take(name: str) -> None:
        now = state.value(LOAD_PATH) or {"least": "20 ms", "most": "33.6 ms"}
        if name in LOADS:
            least, most = LOADS[name]
            state.edit(LOAD_PATH, {"least": least, "most": most})
        else:
            state.edit(LOAD_PATH, now if name == OWN else None)

    names = {name: name for name in LOADS}
    _switch(state, "Load", "load-preset", names, shown, take, LOAD_HELP)
    if shown == OWN:
        left, right = st.columns(2)
        with left:
            quantity(
                state, "Shortest gap", (*LOAD_PATH, "least"), "The shortest time from a call to the next."
            )
        with right:
            quantity(state, "Longest gap", (*LOAD_PATH, "most"), "The longest time from a call to the next.")


def slo_name(state: AppState) -> str:
    """Name the SLO setting of the scenario: a preset, ``own``, or ``rows``."""
    factor = state.scenario.serverless.slo_factor if state.scenario.serverless else None
    if factor is None:
        return "rows"
    preset = next((name for name, value in SLOS.items() if abs(value - factor) < 1e-9), OWN)
    return OWN if "slo-preset" in state.choices.of(OwnSettings).keys else preset


def load_name(state: AppState) -> str:
    """Name the load setting of the scenario: a preset, ``own``, or ``rows``."""
    interval = state.scenario.serverless.interval if state.scenario.serverless else None
    if interval is None:
        return "rows"
    value = state.value(LOAD_PATH)
    preset = next((n for n, (a, b) in LOADS.items() if (a, b) == (value["least"], value["most"])), OWN)
    return OWN if "load-preset" in state.choices.of(OwnSettings).keys else preset


def _switch(
    state: AppState,
    label: str,
    key: str,
    names: dict[str, str],
    shown: str,
    take: Callable[[str], None],
    hint: str,
) -> None:
    """One row of named settings; the scenario changes with a click."""
    texts = {**names, OWN: "own", "rows": "as on Workload"}
    drawn = state.revision
    own = f"{key}-{drawn}-{shown}"

    def commit() -> None:
        if state.revision != drawn:
            return  # the demo, say, has opened another scenario meanwhile
        name = next((n for n, t in texts.items() if t == st.session_state[own]), shown)
        own_keys = state.choices.of(OwnSettings).keys - {key}
        state.choices.keep(OwnSettings(own_keys | {key} if name == OWN else own_keys))
        take(name)

    st.segmented_control(
        label, list(texts.values()), default=texts[shown], required=True, key=own, help=hint, on_change=commit
    )


def _size_list(state: AppState, label: str, path: PlacePath, hint: str) -> None:
    """A text field for whole numbers with commas between them; invalid text stays, with its error."""
    key = f"sizes:{state.revision}:" + ".".join(map(str, path))
    shown = state.shown(path)

    def commit() -> None:
        state.edit(path, _parsed(str(st.session_state[key])))

    value = shown if isinstance(shown, str) else ", ".join(map(str, shown))
    st.text_input(label, value, key=key, help=f"{hint} Whole numbers, separated by commas.", on_change=commit)
    draft = state.drafts.get(path)
    if draft:
        st.error(plain(draft.error), icon=":material/error:")


def _parsed(text: str) -> list[int] | str:
    """The sizes, sorted, each once; the text itself where it is no list of whole numbers.

    >>> _parsed("4, 1 2,2"), _parsed("1, two")
    ([1, 2, 4], '1, two')
    """
    words = text.replace(",", " ").split()
    if words and all(w.isdigit() for w in words):
        return sorted({int(w) for w in words})
    return text


def _function_rows() -> list[dict[str, object]]:
    """A row for each shipped function; values that no readable text confirms are marked.

    >>> _function_rows()[0]["time, ms"]
    86.0
    """
    smallest = grid([1], [1], [1])
    rows: list[dict[str, object]] = []
    for name in function_names():
        f = shipped_function(name)
        if f is None:
            continue
        cpu, gpu = f.seconds(smallest)
        rows.append(
            {
                "function": name,
                "time, ms": round(1e3 * float(cpu[0] + gpu[0]), 3),
                "cold start, s": f.cold_start_s,
                "input, MB": f.input_bytes / 1e6,
                "confirmed": ", ".join(f.confirmed) or "nothing",
                "source": f"{f.source}; the rest {'assumed' if MEASURED in f.confirmed else 'recollected'}",
            }
        )
    return rows


def _provenance_panel(state: AppState) -> None:
    """Every default of the platform and of the shipped functions with its source."""
    panel = st.expander(
        "Where the defaults come from", icon=":material/source:", on_change="rerun", key="provenance-open"
    )
    if not panel.open:
        return
    rows = [
        {
            "default": d.key.removeprefix("serverless."),
            "value": d.value,
            "how sure": d.tag,
            "source": d.source,
            "where to change it": d.where,
        }
        for d in provenance()
    ]
    with panel:
        st.markdown("\n".join(f"* **{tag}**: {meaning}" for tag, meaning in TAGS.items()))
        alt = "Every default of the serverless model: value, how sure it is, source, where to change it"
        table(pd.DataFrame(rows), "serverless-defaults", alt)
        st.markdown("**Functions**")
        alt = "The shipped functions: time at the smallest configuration, cold start, input, source"
        table(pd.DataFrame(_function_rows()), "serverless-functions", alt)


PART = "serverless"
WALK_HELP = (
    "Home: OpenWhisk's invoker for the function. Predecessor: the node of the previous stage, where its "
    "output is local. Warm: a node with an idle container. Walk: from home in steps coprime to the number "
    "of nodes."
)


def _platform_controls(state: AppState) -> None:
    """All other settings of the simulated platform, each with its default and source."""
    with st.expander("Platform: nodes, prices, containers, dispatch", icon=":material/dns:"):
        _nodes(state)
        _containers(state)
        _memory(state)
        _dispatch(state)
        _configurations(state)
    _provenance_panel(state)


def _price_by_server(state: AppState) -> None:
    try:
        prices = prices_by_gpu(state.scenario)
    except NonaError as error:
        state.notice = str(error)
        return
    if state.edit((PART, "prices"), prices.model_dump()):
        state.revision += 1


def _nodes(state: AppState) -> None:
    st.markdown("**Nodes, prices, noise**")
    st.caption(plain(cost_note(state.scenario)))
    server = ("cluster", "servers", 0)
    with st.grid(3, min_column_width=180):
        with st.container():
            count(
                state, "vCPUs per node", (*server, "vcpus"), 1, 4096, "vCPUs that batches can get on a node."
            )
        with st.container():
            hint = "GPUs of a node; each is 7 vGPUs, or as many as its MIG board has slices."
            count(state, "GPUs per node", (*server, "gpus"), 1, 64, hint)
        with st.container():
            hint = "Standard deviation of the factor on every time (Gaussian: recollected; 0.1: assumed)."
            number(state, "Noise", (PART, "noise"), 0.0, 1.0, 0.01, hint)
        with st.container():
            hint = "US dollars per hour for a held vCPU. Recollected from the ESG paper, not confirmed."
            number(state, "vCPU-hour, US$", (PART, "prices", "vcpu_hour"), 0.0, 1e6, 0.001, hint, "%.4f")
        with st.container():
            hint = "US dollars per hour for a held vGPU (a seventh of a GPU). Recollected, not confirmed."
            number(state, "vGPU-hour, US$", (PART, "prices", "vgpu_hour"), 0.0, 1e6, 0.01, hint, "%.3f")
        with st.container(vertical_alignment="bottom", height="stretch"):
            st.button(
                "Price by the server",
                icon=":material/payments:",
                key="serverless-price-by-server",
                on_click=_price_by_server,
                args=(state,),
                help="Each vGPU costs its share of the server's price on page Plan; vCPUs cost no more.",
            )
        with st.container():
            kinds = {"take their time alone": "alone", "share the cluster's network": "network"}
            hint = (
                "Alone: latency + bytes / bandwidth, whatever else is on its way. Shared: first come, first "
                "served over the core, and over cards and racks where the cluster has them, with the "
                "background on the network."
            )
            choice(state, "Transfers", (PART, "transfer", "remote"), kinds, hint)
        _transfers(state)


def _transfers(state: AppState) -> None:
    """Draw the fields of the chosen way of transfers."""
    spec = state.scenario.serverless or ServerlessSpec()
    if spec.transfer.remote == "alone":
        with st.container():
            hint = "Bandwidth to fetch a stage's input from another node. Assumed: 10 Gbit/s."
            quantity(state, "Remote fetch", (PART, "transfer", "remote_bandwidth"), hint)
        return
    with st.container():
        hint = "Of the core, which all transfers between nodes and from outside cross."
        quantity(state, "Network capacity", ("cluster", "network", "capacity"), hint)
    with st.container():
        hint = "Share of every link that other traffic takes."
        share(state, "Background on the network", ("background", "network", "utilization"), hint)
    with st.container():
        hint = "Of each node's card, in each direction by itself; empty: only the core is a limit."
        path = ("cluster", "network", "nic")
        quantity(state, "Card of a node", path, hint, optional=True, empty="no limit")


def _containers(state: AppState) -> None:
    spec = state.scenario.serverless or ServerlessSpec()
    path = (PART, "containers")
    st.markdown("**Cold starts**")
    with st.grid(3, min_column_width=180):
        with st.container():
            hint = "Idle containers of every function on every node at the start; 0: everything starts cold."
            count(state, "Warm at the start", (*path, "warm"), 0, 48, hint)
        with st.container():
            kinds = {"none": "none", "keep a spare one": "spare", "by predicted gaps (EWMA)": "ewma"}
            hint = (
                "Spare: start one more when too few are idle. EWMA: start one in time for the next call "
                "predicted from past gaps (recollected from ESG)."
            )
            choice(state, "Pre-warming", (*path, "prewarm"), kinds, hint)
        with st.container():
            hint = "How long an idle container is kept. 10 minutes: recollected from ESG."
            quantity(state, "Keep alive", (*path, "keep_alive"), hint)
        with st.container():
            hint = (
                "What an idle container pays, of the price of the vCPUs and vGPUs of its last batch (of the "
                "smallest configuration before its first). It holds none of these, so many warm "
                "containers may cost more than the nodes. 0 %: only batches are paid for. Assumed."
            )
            share(state, "Idle containers pay", (PART, "idle_cost"), hint)
        if spec.containers.prewarm == "spare":
            with st.container():
                count(
                    state,
                    "Spare containers",
                    (*path, "spare"),
                    1,
                    48,
                    "Idle containers to keep per function.",
                )
        elif spec.containers.prewarm == "ewma":
            with st.container():
                hint = "Weight of the latest gap in the average: a higher weight follows changes faster."
                number(state, "EWMA weight", (*path, "ewma_weight"), 0.01, 1.0, 0.05, hint)


def _memory(state: AppState) -> None:
    spec = state.scenario.serverless or ServerlessSpec()
    path = (PART, "memory")
    st.markdown("**Memory of nodes**")
    with st.grid(3, min_column_width=180):
        with st.container():
            kinds = {"holds all containers": "none", "is that of its GPUs": "gpus", "is given": "node"}
            hint = (
                "Containers hold memory while they exist. To make room for a new one, the node removes idle "
                "ones, the least recently used first; if that is not enough, the batch waits."
            )
            choice(state, "Memory of a node", (*path, "limit"), kinds, hint)
        if spec.memory.limit == "node":
            with st.container():
                quantity(state, "Memory per node", (*path, "node"), "Bytes that containers share on a node.")
        if spec.memory.limit != "none":
            with st.container():
                hint = "Memory of a container whose function states neither memory nor weights. Assumed."
                quantity(state, "Container, need unknown", (*path, "container"), hint)
            with st.container():
                hint = "In addition to the weights of a network: context, libraries. Assumed."
                quantity(state, "Besides weights", (*path, "overhead"), hint)


def _dispatch(state: AppState) -> None:
    path = (PART, "dispatch")
    st.markdown("**Dispatch**")
    with st.grid(3, min_column_width=180):
        with st.container():
            orders = {
                "home, warm, walk, most free": ["home", "warm", "walk", "most-free"],
                "home, walk": ["home", "walk"],
                "warm, most free": ["warm", "most-free"],
                "most free": ["most-free"],
            }
            hint = f"Nodes tried for a workflow's first function, in order. {WALK_HELP}"
            choice(state, "First function to", (*path, "first"), orders, hint)
        with st.container():
            later = {
                "predecessor, warm, walk, most free": ["predecessor", "warm", "walk", "most-free"],
                "home, warm, walk, most free": ["home", "warm", "walk", "most-free"],
                "warm, most free": ["warm", "most-free"],
                "most free": ["most-free"],
            }
            hint = f"Nodes tried for the later functions, in order. {WALK_HELP}"
            choice(state, "Later functions to", (*path, "later"), later, hint)
        with st.container():
            orders_of = {"round robin": "round-robin", "least slack first": "least-slack"}
            hint = "Which queue is served first when several may be (the paper is silent)."
            choice(state, "Queues in", (*path, "order"), orders_of, hint)
        with st.container():
            hint = "After this many tries without room the smallest configuration is forced. Assumed."
            count(state, "Rechecks", (*path, "rechecks"), 1, 1_000_000, hint)
        with st.container():
            kinds = {"of its queue only": False, "of the whole controller": True}
            hint = "What waits for a search: its own queue, or all queues of the controller."
            choice(state, "A search takes time", (*path, "blocking"), kinds, hint)
        with st.container():
            rules = {rule.title: rule.name for rule in LATE.values()}
            hint = " ".join(
                [
                    "Jobs that no configuration keeps in time:",
                    *(f"{rule.title}: {rule.about}." for rule in LATE.values()),
                    "A policy's own option late takes precedence. No source says what ESG does.",
                ]
            )
            choice(state, "Late calls are", (*path, "late"), rules, hint)
        with st.container():
            kinds = {"left out": False, "run as they are": True}
            hint = "Configurations with a batch larger than the queue: skip them, or run them partly full."
            choice(state, "Batches too large are", (*path, "partial"), kinds, hint)


def _configurations(state: AppState) -> None:
    st.markdown("**Configurations**")
    path = (PART, "configurations")
    with st.grid(3, min_column_width=180):
        with st.container():
            _size_list(state, "Batch sizes", (*path, "batch"), "Jobs that a batch may hold.")
        with st.container():
            _size_list(state, "vCPUs", (*path, "vcpus"), "vCPUs that a batch may get.")
        with st.container():
            _size_list(state, "vGPUs", (*path, "vgpus"), "vGPUs that a batch may get; MIG has 1, 2, 3, 4, 7.")
    spec = state.scenario.serverless
    if spec:
        c = spec.configurations
        n = len(c.batch) * len(c.vcpus) * len(c.vgpus)
        st.caption(f"{n} configurations per function; the grid is assumed, the paper says 256.")


def controls(state: AppState) -> None:
    """All controls; their values are part of the scenario, so the file and the shell have them too."""
    with summary_bar("serverless-controls", _summary(state), state.jobs.get("serverless")):
        with st.container(horizontal=True, gap="medium"):
            with st.container(width="content"):
                slo_preset(state)
            with st.container(width="content"):
                load_preset(state)
        _policies(state)
        _size(state)
        if _mode_asks(state):
            with st.grid(3, min_column_width=200):
                _mode_fields(state)
        with st.container(horizontal=True):
            entries = state.scenario.serverless.policies if state.scenario.serverless else ()
            option_popover(state, "policy-options", (PART, "policies"), entries, POLICIES.get)
        _platform_controls(state)


def _summary(state: AppState) -> list[str]:
    """The settings in one line."""
    spec, size = state.scenario.serverless, state.scenario.simulation
    if spec is None:
        return []
    slo, load = slo_name(state), load_name(state)
    return [
        listed([p.name for p in spec.policies]),
        "each row's SLO" if slo == "rows" else f"{slo} SLO",
        "each row's rate" if load == "rows" else f"{load} load",
        WAYS.find(spec.sharing.mode).title,
        counted(state.scenario.cluster.servers[0].count, "node"),
        f"{size.jobs:,} calls × {counted(size.replications, 'run')}",
        f"seed {state.scenario.seed}",
    ]


def sharing_choices() -> dict[str, str]:
    """The ways of sharing a GPU: display text → name."""
    return {way.title: way.name for way in WAYS.values()}


def _sharing_help() -> str:
    return " ".join(["How functions share a GPU.", *(f"{w.title}: {w.about}." for w in WAYS.values())])


def _mode_asks(state: AppState) -> bool:
    """Return whether the chosen way of sharing has fields of its own."""
    spec = state.scenario.serverless
    way = None if spec is None else WAYS.find(spec.sharing.mode)
    return way is not None and (bool(way.asks) or way.fixed_layout)


def _mode_fields(state: AppState) -> None:
    """Draw the fields of the chosen way of sharing."""
    spec = state.scenario.serverless
    if spec is None:
        return
    way, path = WAYS.find(spec.sharing.mode), (PART, "sharing")
    if "reconfiguration" in way.asks:
        with st.container():
            hint = "Seconds to create a slice of another size while its place is idle. Assumed."
            quantity(state, "Time to create a slice", (*path, "reconfiguration"), hint)
    if "oversubscription" in way.asks:
        with st.container():
            hint = (
                "How many times the GPU's threads may be allocated. 1: the caps fit, so that nobody is "
                "slowed down; above 1 clients slow each other down."
            )
            number(state, "Oversubscription", (*path, "oversubscription"), 1.0, 48.0, 0.1, hint)
    if "interference" in way.asks:
        with st.container():
            hint = (
                "Factor on the clients' demand when they slow each other down; 1: as for equal networks "
                "on an A100. Assumed for different networks."
            )
            number(state, "Interference", (*path, "interference"), 1.0, 100.0, 0.05, hint)
    if way.fixed_layout:
        with st.container():
            st.caption("The slices are those of the servers on the Cluster page.")
            st.page_link("pages/4_cluster.py", label="Change the slices", icon=":material/dns:")


def _policies(state: AppState) -> None:
    """The choice of policies; their options are kept."""
    entries = state.scenario.serverless.policies if state.scenario.serverless else ()
    hint = "The policies that choose the configurations. All get the same calls and the same noise."
    registered = policy_entries(POLICIES, "Serverless policies")
    pick_entries(state, "serverless-policies", "Policies", (PART, "policies"), entries, hint, registered)


def _size(state: AppState) -> None:
    with st.grid(5, min_column_width=146):
        with st.container():
            choice(state, "GPU sharing", (PART, "sharing", "mode"), sharing_choices(), _sharing_help())
        with st.container():
            hint = "Measured calls of all workflows in each run, after a warm-up of a fifth."
            count(state, "Calls measured per run", ("simulation", "jobs"), 1, 100_000_000, hint)
        with st.container():
            hint = "Independent runs of each policy; 2 or more give intervals."
            count(state, "Replications", ("simulation", "replications"), 1, 1000, hint)
        with st.container():
            count(state, "Seed", ("seed",), 0, 2**53 - 1, "The same seed gives the same result, bit for bit.")
        with st.container():
            hint = "Worker nodes of the cluster's first group; each has its vCPUs and GPUs."
            count(state, "Nodes", ("cluster", "servers", 0, "count"), 1, 100_000, hint)
