"""The Serverless page: its beginning, the run, the live platform, the tabs."""

from __future__ import annotations

import streamlit as st

from nona.app.jobs.registry import AppJob
from nona.app.layout.first_steps import Demo, examples, start_card
from nona.app.models.loading import fetch
from nona.app.pages.run_page import RunPage, Tab
from nona.app.pages.serverless.comparisons import nodes_tab, over_tab, sharing_tab
from nona.app.pages.serverless.form import controls, summary
from nona.app.pages.serverless.functions import functions_tab
from nona.app.pages.serverless.results import files, latency_tab, layouts_tab, policies_tab
from nona.app.pages.serverless.search import search_tab
from nona.app.session.state import AppState
from nona.app.session.workspace import owner_key
from nona.app.widgets.components import Node, PolicyLine, draw, el, panel, policies_panel
from nona.app.widgets.fields import plain
from nona.app.widgets.results import show_finding
from nona.app.widgets.terms import guide_link
from nona.cluster.hardware.device import find_device, user_devices
from nona.core.errors import NonaError
from nona.core.figures import PALETTE, scheduler_style
from nona.core.tables import kept_text, share_text
from nona.core.units import format_number, format_time
from nona.queries.simulation.sizes import auto_warmup
from nona.scenario.file import scenario_from_mapping, scenario_hash, scenario_to_mapping
from nona.serverless.chart_data import PlatformLive, ServerlessOutcome
from nona.serverless.report.findings import serverless_finding
from nona.serverless.workflows.preparation import prepare_serverless

SLO_FACTOR = 1.0  # for workflows whose rows have no SLO


DEMOS = (
    Demo(
        "strict_light",
        "Tight SLO, much capacity: which policy finds a fast configuration soon enough?",
        "speed",
    ),
    Demo(
        "relaxed_heavy",
        "Loose SLO, little capacity: which policy batches well, and what does a hit cost?",
        "stacked_bar_chart",
    ),
    Demo(
        "mig_or_mps",
        "The same workload on slices, on MPS and in turns: isolation against flexibility.",
        "view_week",
        "serverless-tabs",
        "Sharing",
    ),
)


def start_screen(state: AppState) -> None:
    """Draw the purpose of the page, the way to begin with the open scenario, and examples."""
    st.markdown(
        "Every function of a workflow is batched and gets vCPUs and a part of a GPU. A policy chooses these "
        "*configurations* while calls arrive. The platform queues and dispatches calls, warms containers and "
        "shares GPUs."
    )
    _own(state)
    examples(state, "serverless", DEMOS, (SERVERLESS.kind,))
    guide_link("serverless", "What is simulated here, and what is assumed")


def _own(state: AppState) -> None:
    reason = why_not(state)
    names = ", ".join(map(plain, state.scenario.labels[:4]))
    start_card(
        "My own workflows",
        plain(reason) if reason else f"{names}: each stage a function, on the present cluster.",
        "Make this scenario's workflows serverless",
        "make-serverless",
        _make_serverless,
        state,
        icon="bolt",
        hint="Adds the key serverless to the scenario, with its defaults; everything else stays.",
        type="secondary" if reason else "primary",
        disabled=bool(reason),
    )


def _make_serverless(state: AppState) -> None:
    """Add the serverless part; rows without SLO get one from the time at the smallest configuration."""
    if state.edit(("serverless",), _part(state)):
        state.notify(
            "The workflows are serverless applications now; the scenario's steps are on the",
            "home",
            "Home",
        )


def _part(state: AppState) -> dict[str, object]:
    """Return the least that makes the workflows serverless; GPUs without MIG are shared by MPS."""
    missing = any(row.slo is None for row in state.scenario.workload)
    own = user_devices(state.scenario.cluster.devices)
    whole = any(find_device(group.gpu, own).mig is None for group in state.scenario.cluster.servers)
    sharing: dict[str, object] = {"sharing": {"mode": "mps"}} if whole else {}
    return ({"slo_factor": SLO_FACTOR} if missing else {}) | sharing


def why_not(state: AppState) -> str:
    """Name the reason why the scenario's models cannot be serverless applications; empty if they can."""
    mark = f"{scenario_hash(state.scenario, 'workload', 'models', 'cluster')} {state.uploads.names()}"
    return fetch(("why-not", owner_key(), mark), lambda: _reason(state), "Reading the workflows")


def _reason(state: AppState) -> str:
    if not state.scenario.workload:
        return "It has no workflows yet: add models on page Scenario."
    data = {**scenario_to_mapping(state.scenario), "serverless": _part(state)}
    try:
        prepare_serverless(scenario_from_mapping(data), state.uploads.sources)
    except NonaError as error:
        return str(error)
    return ""


MOST_NODES = 96  # that are drawn
MOST_VGPUS = 56  # of a node, that are drawn
IN_A_ROW = 14  # vGPUs of a node
FEWEST_JOBS = 4  # in the longest queue: below, bars would jump from nothing to their full length


def platform_drawing(live: PlatformLive) -> Node:
    """Return the policies so far, the queues and the nodes under the one that runs."""
    now = f"under {live.focus}, after {format_time(live.snapshot.time_s)}" if live.snapshot else ""
    upper = el("div", "halves", _policies(live), _queues(live, now))
    return el("div", "live", upper, _nodes(live, now))


def _policies(live: PlatformLive) -> Node:
    def row(name: str) -> PolicyLine:
        so_far = live.policies[name]
        hits, cost = so_far.hits, so_far.cost_per_call_usd
        numbers = () if hits is None else (kept_text(hits), _cost_text(cost))
        return PolicyLine(name, scheduler_style(name).colour, so_far.curve, numbers)

    hits = [f"{n} {kept_text(h)}" for n in live.order if (h := live.policies[n].hits) is not None]
    return policies_panel(
        "first run, warm-up included",
        f"SLOs kept so far, warm-up included: {', '.join(hits) or 'none known yet'}.",
        ("over the run", "SLOs kept", "$ per 1,000 calls"),
        [row(name) for name in live.order],
    )


def _cost_text(per_call_usd: float | None) -> str:
    return "–" if per_call_usd is None else format_number(1000 * per_call_usd)


def _queues(live: PlatformLive, now: str) -> Node:
    jobs = live.snapshot.queues if live.snapshot else (0,) * sum(len(s) for _, s in live.applications)
    most, left = max(FEWEST_JOBS, *jobs), iter(jobs)
    drawn = []
    for number, (name, stages) in enumerate(live.applications):
        colour = PALETTE[number % len(PALETTE)]
        rows = [
            _stage(stage, count, count / most, colour) for stage, count in zip(stages, left, strict=False)
        ]
        drawn.append(el("div", "", el("b", "", name), *rows))
    alt = f"{sum(jobs)} jobs wait in all queues under {live.focus or 'no policy yet'}."
    return panel("Jobs in the queues", now, alt, el("div", "queues", *drawn))


def _stage(name: str, jobs: int, share: float, colour: str) -> Node:
    return el(
        "div",
        "stage",
        el("span", "", name, title=name),
        _meter(share, colour),
        el("span", "number", str(jobs)),
    )


def _meter(share: float, colour: str) -> Node:
    return el("div", "meter", el("i"), __w=f"{100 * share:.1f}%", __mc=colour)


def _nodes(live: PlatformLive, now: str) -> Node:
    shown, snapshot, usage = live.nodes[:MOST_NODES], live.snapshot, []
    for k, (vcpus, vgpus) in enumerate(shown):
        if snapshot is None:
            usage.append((0, 0, 0))
        else:
            usage.append(
                (vcpus - snapshot.free_vcpus[k], vgpus - snapshot.free_vgpus[k], snapshot.stranded[k])
            )
    cpu = sum(c for c, _, _ in usage) / max(1, sum(vcpus for vcpus, _ in shown))
    gpu = sum(g for _, g, _ in usage) / max(1, sum(vgpus for _, vgpus in shown))
    hidden = len(live.nodes) - MOST_NODES
    return panel(
        "Nodes",
        now,
        f"{len(shown)} nodes: {share_text(cpu)} of the vCPUs and {share_text(gpu)} of the vGPUs are held.",
        el("div", "nodes", *[_node(k, *shown[k], *usage[k]) for k in range(len(shown))]),
        el(
            "div",
            "key note",
            el("span", "", _meter(0.6, CPU_COLOUR), "vCPUs held"),
            el("span", "", _slices(1, 1, 0), "vGPU held"),
            el("span", "", _slices(1, 0, 0), "free"),
            el("span", "", _slices(1, 0, 1), "stranded: free, but no batch can use it"),
            el("span", "", f"{hidden} more nodes are not drawn") if hidden > 0 else None,
        ),
    )


CPU_COLOUR, GPU_COLOUR = PALETTE[1], PALETTE[0]


def _node(number: int, vcpus: int, vgpus: int, cpu_held: int, gpu_held: int, stranded: int) -> Node:
    text = f"{cpu_held} of {vcpus} vCPUs and {gpu_held} of {vgpus} vGPUs held, {stranded} stranded"
    return el(
        "div",
        "invoker",
        el("div", "note", el("span", "", str(number)), el("span", "", f"{cpu_held}/{vcpus} vCPUs")),
        _meter(cpu_held / vcpus, CPU_COLOUR),
        _slices(min(vgpus, MOST_VGPUS), gpu_held, stranded),
        title=text,
    )


def _slices(vgpus: int, taken: int, stranded: int) -> Node:
    kinds = ["taken" if k < taken else "lost" if k >= vgpus - stranded else "" for k in range(vgpus)]
    cells = [el("i", kind) for kind in kinds]
    return el("div", "slices", *cells, __n=min(vgpus, IN_A_ROW), __c=GPU_COLOUR)


MANY_CALLS = 100_000  # in all runs of all policies
QUICK_CALLS, QUICK_RUNS = 1000, 3


def _fields(state: AppState) -> None:
    controls(state)
    spec, size = state.scenario.serverless, state.scenario.simulation
    calls = (size.jobs + auto_warmup(size.jobs)) * size.replications * (len(spec.policies) if spec else 0)
    if calls <= MANY_CALLS:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"All runs together have {calls:,} calls, which takes minutes.")
        st.button(
            f"Take {QUICK_CALLS:,} calls and {QUICK_RUNS} runs for a first estimate",
            icon=":material/bolt:",
            type="tertiary",
            key="quick-look",
            on_click=quick,
            args=(state,),
            help="Sets the two fields above; Undo takes this back. Intervals become wider.",
        )


def quick(state: AppState) -> None:
    """Make the runs small."""
    state.edit(("simulation", "jobs"), QUICK_CALLS)
    state.change(("simulation", "replications"), QUICK_RUNS)


def _answer(state: AppState, data: ServerlessOutcome) -> None:
    notes = (*data.report.setting.notes, data.about.stamp)
    show_finding("serverless-finding", serverless_finding(data.report), *notes)


def _live(job: AppJob) -> None:
    draw("platform", platform_drawing(PlatformLive.from_json(job.live)))


SERVERLESS = RunPage(
    kind="serverless",
    label="Run the policies",
    result_type=ServerlessOutcome,
    summary=summary,
    fields=_fields,
    live=_live,
    answer=_answer,
    before="Every policy gets the same calls, noise and platform. A run shows live which policy keeps the "
    "SLOs, its cost, the queues, and the allocation of every node. The tabs for the search, sharing "
    "modes and nodes need no run.",
    tabs={
        "Policies": Tab(policies_tab),
        "Latency": Tab(latency_tab),
        "Functions": Tab(always=functions_tab),
        "Search": Tab(always=search_tab),
        "Sharing": Tab(always=sharing_tab),
        "Up to what load?": Tab(always=over_tab),
        "GPU layouts": Tab(layouts_tab),
        "Nodes": Tab(always=nodes_tab),
    },
    files=files,
    command="serverless",
    guide=("serverless", "What is simulated here, and what is assumed"),
    advice="Fewer calls, replications or policies take less time.",
    poll_s=0.2,
)
