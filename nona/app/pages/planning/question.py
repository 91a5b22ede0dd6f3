"""Questions of a plan: the start screen, demand and targets, the question in columns."""

from __future__ import annotations

from functools import partial

import streamlit as st

from nona.app.form import entry_at, field, fields
from nona.app.layout.first_steps import Demo, examples, start_card
from nona.app.pages.planning.offers import (
    PART,
    TARGETS,
    batch_fields,
    begin_count,
    begin_plan,
    end_plan,
    group_field,
    money_fields,
    offer_fields,
)
from nona.app.session.state import AppState
from nona.app.store.contents import scenario_of
from nona.app.widgets.fields import button, listed, plain, upload
from nona.app.widgets.policy_choice import option_popover, pick_entries
from nona.cluster.prices import growth_text
from nona.core.units import format_time
from nona.planning.offers import gpu_text
from nona.queries.schedulers.registry import SCHEDULERS
from nona.scenario.plan import NOT_ASKED
from nona.scenario.schema import Scenario
from nona.scenario.words import words

DEMOS = (
    Demo(
        "black_friday",
        "Traffic peaks every week and grows every month: what to buy, and how long does it suffice?",
        "trending_up",
    ),
    Demo(
        "a100s_sliced_or_l4s",
        "Three ways to use a large GPU, against a small one: which mix is cheapest?",
        "call_split",
    ),
    Demo(
        "survive_a_rack",
        "Servers stand in racks: does the cheapest cluster survive the loss of one?",
        "domain_disabled",
    ),
    Demo(
        "language_and_vision",
        "Long and short queries share GPUs, each with a target of its own.",
        "join_inner",
    ),
    Demo(
        "batches_save_servers",
        "Queries that run together take a GPU for less time each: how many servers does that save?",
        "stacks",
    ),
)


def start_screen(state: AppState, kind: str) -> None:
    """Draw the purpose of the page, the demos, and the start with the present scenario.

    ``kind``: that of the plans of the scenario, ``plan`` or ``language-plan``.
    """
    st.markdown(
        "You give each model's targets, the growth of the traffic, and GPUs with their prices. The plan "
        "finds the cheapest servers, MIG layouts and scheduler that keep every target. Simulation gives the "
        "evidence."
    )
    _last_plan(state, kind)
    with st.grid(2, min_column_width=260):
        _own(state)
        count_card(state)
    examples(state, "plan", DEMOS)


def _last_plan(state: AppState, kind: str) -> None:
    """Offer the last plan of a scenario that was opened again without its question."""
    result = state.results.get(kind)
    if result is None or result.scenario_name != state.scenario.name:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="plan-last"):
        st.markdown("An earlier plan of this scenario exists.", width="stretch")
        question = {"plan": scenario_of(result.data).plan}
        again = state.scenario.model_copy(update=question)
        hint = "Adds the plan's question to the scenario, under the key plan."
        button("Show it", "plan-show-last", state.apply, again, "showing the last plan", hint=hint)


def _own(state: AppState) -> None:
    start_card(
        "Your scenario",
        "Plans for the present workload. At first, the cluster's own servers are on offer.",
        "Plan for this workload",
        "make-plan",
        begin_plan,
        state,
        icon="shopping_cart",
        hint="Adds the key plan to the scenario; the cluster stays as it is.",
        type="primary",
    )


def count_card(state: AppState) -> None:
    """Offer A way to begin: the fewest servers of one group, all else unchanged."""
    start_card(
        "How many servers?",
        "Finds the fewest servers of one group that keep the SLOs, for each scheduler. All else stays the "
        "same.",
        "Count servers",
        "count-servers",
        begin_count,
        state,
        icon="dns",
        hint="Adds the key plan to the scenario; the cluster stays as it is.",
    )


PROFILE = (PART, "profile")
ENDINGS = (".csv", ".tsv", ".txt")
LISTED = 8  # models of which the rate is shown
PROFILE_HELP = (
    "CSV with 24 or 168 rows, the first for Monday 0:00, and a column factor (on the rates here) or rate "
    "(queries/s). Or a trace of arrivals, whose first day or week counts."
)


def _demand_fields(state: AppState) -> None:
    _models(state)
    with st.grid(2, min_column_width=130, vertical_alignment="bottom"):
        field(state, f"{PART}.hit")
        field(state, f"{PART}.growth")
    _survival(state)
    _week(state)


NO_RACKS = "the cluster has no racks; set them on page Scenario, under Network"


def _survival(state: AppState) -> None:
    """Draw the choice of losses; a rack is listed and cannot be chosen where the cluster has none."""
    path = (PART, "survive")
    choices, without = words(path).choices, state.scenario.cluster.network.racks is None
    if without and state.shown(path) != "rack":
        choices["rack"] += f" (not available: {NO_RACKS})"

    def choose(value: str) -> None:
        if value == "rack" and without:
            state.notify(f"A rack cannot be chosen: {NO_RACKS}.")
            state.revision += 1  # the field goes back
        else:
            state.edit(path, value)

    field(state, path, choices=choices, edit=choose)


def _models(state: AppState) -> None:
    rows = list(zip(state.scenario.labels, state.scenario.workload, strict=True))
    words = [
        f"* **{plain(label)}** {row.load_text}{_bounds_text(state, label, row.slo)}"
        for label, row in rows[:LISTED]
    ]
    more = [f"* and {len(rows) - LISTED:,} more"] if len(rows) > LISTED else []
    st.markdown("\n".join([*words, *more]))
    st.page_link(
        "pages/scenario.py", label="Change traffic, SLOs and targets", icon=":material/stacked_line_chart:"
    )


def _bounds_text(state: AppState, label: str, slo_s: float | None) -> str:
    """List the bounds that a model is asked to keep: its SLO unless it is not asked, and its own targets."""
    entry = entry_at(state, (*TARGETS, label))
    own = [f"{key} {value}" for key, value in entry.items() if key != "hit"]
    if slo_s and entry.get("hit") != NOT_ASKED:
        own.insert(0, f"within {format_time(slo_s)}")
    return plain(f", {', '.join(own)}") if own else ", nothing is asked"


def _week(state: AppState) -> None:
    files = [n for n in state.uploads.names() if n.lower().endswith(ENDINGS)]
    field(state, PROFILE, choices={None: words(PROFILE).none, **{name: name for name in files}})
    if state.value(PROFILE) is not None:
        field(state, f"{PART}.startup")
    key = f"plan-profile-upload-{state.revision}"
    with st.popover("Upload a week", icon=":material/upload:"):
        upload(state, "Profile or trace", key, "plan-profile", partial(_take_file, state), PROFILE_HELP)


def _take_file(state: AppState, name: str, data: bytes) -> None:
    name = name if name.lower().endswith(ENDINGS) else f"{name}.csv"
    state.change(PROFILE, state.uploads.add(name, data))


def controls(state: AppState) -> None:
    """All controls; their values are part of the scenario, so the file and the shell have them too."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.subheader("Demand", anchor=False)
        _demand_fields(state)
    with right:
        st.subheader("On offer", anchor=False)
        group_field(state)
        offer_fields(state)
        if state.scenario.plan is not None:
            pick_entries(state, "plan-schedulers", (PART, "schedulers"))
            option_popover(state, "plan-scheduler-options", (PART, "schedulers"), SCHEDULERS)
        batch_fields(state)
    with st.expander("Prices", icon=":material/payments:"):
        money_fields(state)
    with st.expander("How the plan is searched", icon=":material/search:"):
        _search(state)


def summary(scenario: Scenario) -> list[str]:
    """Return the parts of the line that sums up a plan's question."""
    spec = scenario.plan
    if spec is None:
        return []
    names = [gpu_text(o.gpu, o.mig) for o in spec.offers]
    own = (
        [f"target{'' if len(spec.targets) == 1 else 's'} of {listed(list(spec.targets))}"]
        if spec.targets
        else []
    )
    return [
        f"{100 * spec.hit:.6g} % within the SLO",
        *own,
        f"survives a {spec.survive}" if spec.survive != "nothing" else "",
        f"grows {growth_text(spec.growth)}" if spec.growth else "",
        f"week of {spec.profile}" if spec.profile else "",
        listed(names) if names else "servers of the cluster" if spec.group is None else "",
        "" if spec.group is None else f"fewest servers of group {spec.group + 1}",
        listed([s.name for s in spec.schedulers]),
        listed([b.text for b in spec.batches]) if spec.batches else "",
        f"{100 * spec.confidence:.6g} % confidence",
    ]


def _search(state: AppState) -> None:
    with st.grid(4, min_column_width=150, vertical_alignment="bottom"):
        fields(state, PART, "confidence most replications")
        field(state, "simulation.jobs", "Jobs of a run", "As on the page Simulation.")
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        field(state, f"{PART}.mixed")
        hint = "Removes the question from the scenario. Undo brings it back."
        button("Remove this plan", "remove-plan", end_plan, state, icon="delete", hint=hint, type="tertiary")
