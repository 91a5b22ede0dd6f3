"""The demand: what each model must keep, how the traffic grows, and how it varies over the week."""

from __future__ import annotations

from typing import Any

import streamlit as st

from nona.errors import NonaError
from nona.ui.pages.plan.form.edits import PART, TARGETS, set_target, targets_of
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import late, plain, quantity, share
from nona.ui.widgets.pages import shown_at_once
from nona.units import format_time

PROFILE = (PART, "profile")
ENDINGS = (".csv", ".tsv", ".txt")
LISTED = 8  # models of which the rate is shown
NO_PROFILE = "steady all week"
PROFILE_HELP = (
    "CSV with a column factor (on the rates here) or rate (queries/s) and 24 or 168 rows, the first for "
    "Monday 0:00; or a trace of arrivals, whose first day or week counts."
)
OWN_HELP = "Of this model alone; empty: not asked. Without any the share within the SLO is asked."
OWN = {
    "hit": "Within the SLO",
    "p50": "p50 at most",
    "p95": "p95 at most",
    "p99": "p99 at most",
}


def demand_fields(state: AppState) -> None:
    """The models with what is asked of them, growth and the week."""
    _models(state)
    with st.grid(2, min_column_width=130, vertical_alignment="bottom"):
        hint = "Of the jobs of each model with an SLO, unless the model has a target of its own."
        share(state, "Within the SLO", (PART, "hit"), hint)
        hint = "Of the traffic, e.g. 8%/month or 150%/year. The answer says in which month it breaks."
        quantity(state, "Growth", (PART, "growth"), hint)
    _week(state)
    with st.expander("Targets of single models", icon=":material/target:"):
        st.caption("p95 at most 50 ms: 95 % of its jobs are complete within 50 ms. All targets must hold.")
        for index in shown_at_once(len(state.scenario.labels), "plan-targets-at-once", "Models"):
            _own_targets(state, state.scenario.labels[index])


def _models(state: AppState) -> None:
    """Rate and SLO of each model, which the Workload page changes."""
    rows = list(zip(state.scenario.labels, state.scenario.workload, strict=True))
    words = [
        f"* **{plain(label)}** {row.rate:.4g}/s{_asked(state, label, row.slo)}"
        for label, row in rows[:LISTED]
    ]
    more = [f"* and {len(rows) - LISTED:,} more"] if len(rows) > LISTED else []
    st.markdown("\n".join([*words, *more]))
    st.page_link("pages/5_workload.py", label="Change traffic and SLOs", icon=":material/stacked_line_chart:")


def _asked(state: AppState, label: str, slo_s: float | None) -> str:
    """The bound that a model is asked to keep: targets of its own, else its SLO."""
    own = [f"{key} {value}" for key, value in targets_of(state, label).items() if key != "hit"]
    if own:
        return plain(f", {', '.join(own)}")
    return f" within {plain(format_time(slo_s))}" if slo_s else ", no SLO"


def _own_targets(state: AppState, label: str) -> None:
    path = (*TARGETS, label)
    shown = targets_of(state, label)
    revision = state.revision
    st.markdown(f"**{plain(label)}**")
    with st.grid(4, min_column_width=110):
        for key, title in OWN.items():
            place = f"plan-target-{revision}-{label}-{key}"

            def commit(key: str = key, place: str = place) -> None:
                if not late(state, revision):
                    set_target(state, label, key, str(st.session_state[place] or "").strip())

            value = shown.get(key, "")
            text = f"{100 * value:.6g} %" if isinstance(value, float) else str(value)
            st.text_input(title, text, key=place, on_change=commit, help=OWN_HELP)
    draft = state.drafts.get(path)
    if draft:
        st.error(plain(draft.error), icon=":material/error:")


def _week(state: AppState) -> None:
    """Which file says how the traffic varies, and its upload."""
    now = state.value(PROFILE)
    files = [n for n in state.uploads.names() if n.lower().endswith(ENDINGS)]
    names = [NO_PROFILE, *dict.fromkeys([*([now] if now else []), *files])]
    revision = state.revision
    key = f"plan-profile-{revision}"

    def choose() -> None:
        if not late(state, revision):
            chosen = st.session_state[key]
            state.edit(PROFILE, None if chosen == NO_PROFILE else chosen)

    st.selectbox(
        "Traffic over the week",
        names,
        names.index(now) if now else 0,
        key=key,
        on_change=choose,
        help="The plan is sized for the busiest hour; beside it stands a schedule of servers by hour.",
    )
    if now is not None:
        hint = "How long a server takes until it serves; a schedule pays for this time."
        quantity(state, "A server starts in", (PART, "startup"), hint)
    with st.popover("Upload a week", icon=":material/upload:"):
        st.file_uploader(
            "Profile or trace",
            key=f"plan-profile-upload-{revision}",
            on_change=_take,
            args=(state, f"plan-profile-upload-{revision}"),
            max_upload_size=64,
            help=PROFILE_HELP,
        )
    complaint = state.choices.complaints.get("plan-profile")
    if complaint:
        st.error(plain(complaint), icon=":material/error:")


def _take(state: AppState, key: str) -> None:
    upload: Any = st.session_state[key]
    if upload is None:
        return
    try:
        name = upload.name if upload.name.lower().endswith(ENDINGS) else f"{upload.name}.csv"
        if state.edit(PROFILE, state.uploads.add(name, upload.getvalue())):
            state.choices.complaints.pop("plan-profile", None)
            state.revision += 1
    except NonaError as error:
        state.choices.complaints["plan-profile"] = str(error)
