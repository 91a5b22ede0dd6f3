"""The Serverless page: its beginning, the run, the live platform, the tabs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from nona.errors import NonaError
from nona.hardware.device import find_device, user_devices
from nona.report.figures import PALETTE, scheduler_style
from nona.report.serverless.findings import keeps_most, pareto_title
from nona.results.document import Document, Figure
from nona.results.serverless_charts import PlatformLive, PolicySoFar, ServerlessOutcome, Snapshot
from nona.scenario.file import scenario_from_mapping, scenario_hash, scenario_to_mapping
from nona.simulation.sizes import auto_warmup
from nona.study.serverless.preparation import prepare_serverless
from nona.tables.formats import share_text
from nona.ui.jobs.registry import Job
from nona.ui.models.loading import fetch
from nona.ui.pages.run_page import RunPage, Tab
from nona.ui.pages.serverless_comparisons import nodes_tab, over_tab, schedulers_tab, sharing_tab, slides_tab
from nona.ui.pages.serverless_form import controls, summary
from nona.ui.pages.serverless_functions import functions_tab
from nona.ui.pages.serverless_results import files, latency_tab, layouts_tab, policies_tab
from nona.ui.pages.serverless_search import search_tab
from nona.ui.session.state import AppState
from nona.ui.session.workspace import whose
from nona.ui.shell.first_steps import Demo, demo_cards, demo_error, start_card
from nona.ui.shell.job_panel import progress_text
from nona.ui.widgets.components import declare
from nona.ui.widgets.fields import plain
from nona.ui.widgets.results import hero
from nona.ui.widgets.terms import guide_link
from nona.units import format_time

SLO_FACTOR = 1.0  # for workflows whose rows have no SLO


DEMOS = (
    Demo(
        "strict_light",
        "Little time, much capacity: which policy finds a fast configuration soon enough?",
        "speed",
    ),
    Demo("moderate_normal", "Queues begin to form: plans made in advance start to miss.", "balance"),
    Demo(
        "relaxed_heavy",
        "Much time, little capacity: which policy batches well, and what does a hit cost?",
        "stacked_bar_chart",
    ),
    Demo(
        "mig_or_mps",
        "The same workload on slices, on MPS and in turns: isolation against flexibility.",
        "view_week",
        "Sharing",
    ),
    Demo("serverless_nodes", "Each policy on one node more or less, until the target holds.", "dns", "Nodes"),
)


def start_screen(state: AppState) -> None:
    """Draw the purpose of the page, five ways to begin, and one with the open scenario."""
    st.markdown(
        "#### Which policy keeps the SLO of serverless workflows, and at what cost?\n"
        "Every function of a workflow is batched and gets vCPUs and a part of a GPU. A policy chooses these "
        "*configurations* while calls come in; the platform queues, dispatches, warms and shares."
    )
    with st.grid(3, min_column_width=260):
        demo_cards(state, "serverless", DEMOS)
        _own(state)
    demo_error(state)
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
        state.tell(
            "The workflows are serverless applications now; the scenario's steps are on the",
            "home",
            "Home",
        )


def _part(state: AppState) -> dict[str, object]:
    """The least that makes the workflows serverless; GPUs without MIG are shared by MPS."""
    missing = any(row.slo is None for row in state.scenario.workload)
    own = user_devices(state.scenario.cluster.devices)
    whole = any(find_device(group.gpu, own).mig is None for group in state.scenario.cluster.servers)
    sharing: dict[str, object] = {"sharing": {"mode": "mps"}} if whole else {}
    return ({"slo_factor": SLO_FACTOR} if missing else {}) | sharing


def why_not(state: AppState) -> str:
    """Name the reason why the scenario's models cannot be serverless applications; empty if they can."""
    mark = f"{scenario_hash(state.scenario, 'workload', 'models', 'cluster')} {state.uploads.names()}"
    return fetch(("why-not", whose(), mark), lambda: _reason(state), "Reading the workflows")


def _reason(state: AppState) -> str:
    if not state.scenario.workload:
        return "It has no workflows yet: add models on page Scenario."
    data = {**scenario_to_mapping(state.scenario), "serverless": _part(state)}
    try:
        prepare_serverless(scenario_from_mapping(data), state.uploads.sources)
    except NonaError as error:
        return str(error)
    return ""


class PolicyRow(Document):
    """A policy so far: share of SLOs kept, US dollars for 1,000 calls, the curve of the share."""

    name: str
    colour: str
    hits: Figure
    cost: Figure
    curve: tuple[tuple[float, float], ...]


class QueueRow(Document):
    """The queues of an application: jobs in each stage's."""

    application: str
    stages: tuple[str, ...]
    jobs: tuple[int, ...]
    colour: str


class NodeRow(Document):
    """A node: what it has, what batches hold of it, stranded vGPUs."""

    vcpus: int
    vgpus: int
    cpu_held: int
    gpu_held: int
    stranded: int


class PlatformDrawing(Document):
    """The whole picture; ``told``, ``now``, ``more`` and ``alts`` are texts."""

    fraction: float
    told: str
    policies: tuple[PolicyRow, ...]
    queues: tuple[QueueRow, ...]
    nodes: tuple[NodeRow, ...]
    colours: tuple[str, str]
    now: str
    more: str
    alts: tuple[str, str, str]


MOST_NODES = 96  # that are drawn
MOST_VGPUS = 56  # of a node, that are drawn
_component = declare("platform", why="a chart is too slow for queues and slices that change twice a second")


def platform_data(live: PlatformLive, fraction: float, told: str) -> PlatformDrawing:
    """Return the data for the browser: a job's ``live``, the look of each policy, the texts of the panels."""
    snapshot, focus = live.snapshot, live.focus
    policies = tuple(_policy(name, live.policies[name]) for name in live.order)
    queues = _queues(live.applications, snapshot)
    nodes = _nodes(live.nodes, snapshot)
    hidden = len(live.nodes) - MOST_NODES
    return PlatformDrawing(
        fraction=fraction,
        told=told,
        policies=policies,
        queues=queues,
        nodes=nodes,
        colours=(PALETTE[1], PALETTE[0]),
        now=f"under {focus}, after {format_time(snapshot.time_s)}" if snapshot else "",
        more=f"{hidden} more nodes are not drawn" if hidden > 0 else "",
        alts=_alts(policies, queues, nodes, focus),
    )


def _policy(name: str, row: PolicySoFar) -> PolicyRow:
    cost = row.cost_per_call_usd
    return PolicyRow(
        name=name,
        colour=scheduler_style(name).colour,
        hits=row.hits,
        cost=None if cost is None else 1000 * cost,
        curve=row.curve,
    )


def _queues(
    applications: Sequence[tuple[str, tuple[str, ...]]], snapshot: Snapshot | None
) -> tuple[QueueRow, ...]:
    jobs = snapshot.queues if snapshot else ()
    rows, at = [], 0
    for number, (name, stages) in enumerate(applications):
        here = jobs[at : at + len(stages)] or (0,) * len(stages)
        at += len(stages)
        colour = PALETTE[number % len(PALETTE)]
        rows.append(QueueRow(application=name, stages=stages, jobs=here, colour=colour))
    return tuple(rows)


def _nodes(nodes: Sequence[tuple[int, int]], snapshot: Snapshot | None) -> tuple[NodeRow, ...]:
    rows = []
    for k, (vcpus, vgpus) in enumerate(nodes[:MOST_NODES]):
        free_cpu = snapshot.free_vcpus[k] if snapshot else vcpus
        free_gpu = snapshot.free_vgpus[k] if snapshot else vgpus
        rows.append(
            NodeRow(
                vcpus=vcpus,
                vgpus=min(vgpus, MOST_VGPUS),
                cpu_held=max(0, vcpus - free_cpu),
                gpu_held=max(0, min(vgpus, MOST_VGPUS) - free_gpu),
                stranded=min(snapshot.stranded[k], MOST_VGPUS) if snapshot else 0,
            )
        )
    return tuple(rows)


def _alts(
    policies: Sequence[PolicyRow], queues: Sequence[QueueRow], nodes: Sequence[NodeRow], focus: str
) -> tuple[str, str, str]:
    hits = [f"{p.name} {100 * p.hits:.1f} %" for p in policies if p.hits is not None]
    waiting = sum(sum(q.jobs) for q in queues)
    cpu = 100 * sum(n.cpu_held for n in nodes) / max(1, sum(n.vcpus for n in nodes))
    gpu = 100 * sum(n.gpu_held for n in nodes) / max(1, sum(n.vgpus for n in nodes))
    return (
        f"SLOs kept so far, warm-up included: {', '.join(hits) or 'none known yet'}.",
        f"{waiting} jobs wait in all queues under {focus or 'no policy yet'}.",
        f"{len(nodes)} nodes: {cpu:.0f} % of the vCPUs and {gpu:.0f} % of the vGPUs are held.",
    )


def _platform_view(key: str, data: PlatformDrawing) -> None:
    _component(key=key, data=data.to_json())


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
            f"Take {QUICK_CALLS:,} calls and {QUICK_RUNS} runs for a first look",
            icon=":material/bolt:",
            type="tertiary",
            key="quick-look",
            on_click=quick,
            args=(state,),
            help="Sets the two fields above; Undo brings them back. Intervals become wider.",
        )


def quick(state: AppState) -> None:
    """Make the runs small."""
    state.edit(("simulation", "jobs"), QUICK_CALLS)
    state.edit(("simulation", "replications"), QUICK_RUNS)
    state.revision += 1  # so that the fields above show it


def _answer(state: AppState, data: ServerlessOutcome) -> None:
    policies, best = data.report.policies, keeps_most(data.report.policies)
    kept = None if best is None else policies[best].slo_hit_rate.mean
    with hero(
        "serverless-finding",
        "Most SLOs kept",
        "" if kept is None else share_text(kept, 1),
        "" if kept is None else f"By {best}.",
    ):
        title = plain(pareto_title(policies, data.report.setting))
        st.subheader(title.replace(" %", "\N{NO-BREAK SPACE}%"), anchor=False)
        for note in (*data.report.setting.notes, data.about.stamp):
            st.caption(plain(note))


def _live(job: Job) -> None:
    live = PlatformLive.from_json(job.live)
    _platform_view("platform", platform_data(live, job.fraction, progress_text(job)))


SERVERLESS = RunPage(
    kind="serverless",
    label="Run the policies",
    of=ServerlessOutcome,
    summary=summary,
    fields=_fields,
    live=_live,
    draws_progress=True,
    answer=_answer,
    before="Every policy gets the same calls, the same noise, the same platform. A run shows live which "
    "policy keeps the SLOs and at what cost, how queues grow, and what every node has allocated. The tabs "
    "for the search, the ways of sharing and the nodes need no run.",
    tabs={
        "Policies": Tab(policies_tab),
        "Latency": Tab(latency_tab),
        "Functions": Tab(always=functions_tab),
        "Search": Tab(always=search_tab),
        "Sharing": Tab(always=sharing_tab),
        "Up to what load?": Tab(always=over_tab),
        "GPU layouts": Tab(layouts_tab),
        "Nodes": Tab(always=nodes_tab),
        "DAG schedulers": Tab(always=schedulers_tab),
        "The slides": Tab(always=slides_tab),
    },
    files=files,
    command="serverless",
    guide=("serverless", "What is simulated here, and what is assumed"),
    advice="Fewer calls, replications or policies take less time.",
    poll_s=0.2,
)
