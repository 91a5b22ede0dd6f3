"""The controls of a sweep: which numbers, from where to where, which schedulers, how many runs."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from nona.report.sweeps.targets import target_text
from nona.schedulers.registry import scheduler_names
from nona.study import numbers_of
from nona.ui.pages.sweep.settings import Form, Range, change, change_ends, form_of, scenario_schedulers
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.schedulerpicker.schedulerpicker import scheduler_picker

MOST_VALUES, MOST_JOBS, MOST_RUNS = 60, 1_000_000, 100


def sweep_controls(state: AppState) -> None:
    """Fields with content that stays with the session."""
    form = form_of(state)
    numbers = {n.key: n.label for n in numbers_of(state.scenario)}
    with st.grid(4, min_column_width=150):
        hint = "The number of the scenario that varies; all else stays unchanged."
        _number(state, "Sweep", "key", numbers, form.first.key, hint)
        _ends(state, form.first, "")
    others = {"": "nothing", **{k: label for k, label in numbers.items() if k != form.first.key}}
    with st.grid(4, min_column_width=150):
        hint = "A second number: every pair of values is simulated and drawn as a heat map."
        _number(state, "Against", "second", others, form.second.key if form.second else "", hint)
        if form.second is not None:
            _ends(state, form.second, " (second)")
    with st.popover(_size(state, form), icon=":material/tune:", key="sweep-size"):
        _schedulers(state, form)
        hint = "More jobs reveal growing queues near an edge; fewer answer sooner."
        _whole(state, "Jobs per run", "jobs", form.jobs, MOST_JOBS, hint)
        hint = "Independent runs at each value: they give the intervals."
        _whole(state, "Runs per value", "replications", form.replications, MOST_RUNS, hint)
        _target(state, form)


def _size(state: AppState, form: Form) -> str:
    """The size of the sweep in a few words; they open its fields."""
    count = len(scenario_schedulers(state.scenario) if form.schedulers is None else form.schedulers)
    schedulers, runs = "s" * (count != 1), "s" * (form.replications != 1)
    size = f"{count} scheduler{schedulers}, {form.replications} run{runs} of {form.jobs:,} jobs"
    return f"{size}, target {target_text(form.target)}"


def _number(state: AppState, label: str, name: str, options: dict[str, str], chosen: str, hint: str) -> None:
    key = f"sweep-{name}-{state.revision}-{len(options)}"
    st.selectbox(
        label,
        list(options),
        list(options).index(chosen),
        format_func=lambda k: plain(options[k]),
        key=key,
        on_change=_changer(state, key, name),
        help=hint,
    )


def _ends(state: AppState, of: Range, which: str) -> None:
    for label, name, value, hint in (
        ("From", "low", of.low, "First value, with its unit."),
        ("To", "high", of.high, "Last value, with its unit."),
    ):
        key = f"sweep-{name}-{of.key}-{state.revision}"
        st.text_input(
            f"{label}{which}", value, key=key, on_change=_ends_changer(state, key, of, name), help=hint
        )
    key = f"sweep-count-{of.key}-{state.revision}"
    st.number_input(
        f"Values, about{which}",
        1,
        MOST_VALUES,
        of.count,
        1,
        key=key,
        on_change=_ends_changer(state, key, of, "count"),
        help="Round values between the two ends.",
    )


def _target(state: AppState, form: Form) -> None:
    key = f"sweep-target-{state.revision}"

    def choose() -> None:
        change(state, target=round(st.session_state[key] / 100, 6))

    st.number_input(
        "SLO target, %",
        50.0,
        99.99,
        100 * form.target,
        0.1,
        format="%.6g",
        key=key,
        on_change=choose,
        help="Share of the SLOs to keep: drawn on the charts, and said up to where it holds.",
    )


def _whole(state: AppState, label: str, name: str, value: int, most: int, hint: str) -> None:
    key = f"sweep-{name}-{state.revision}"
    st.number_input(label, 1, most, value, 1, key=key, on_change=_changer(state, key, name), help=hint)


def _schedulers(state: AppState, form: Form) -> None:
    own = scenario_schedulers(state.scenario)

    def choose(names: tuple[str, ...]) -> None:
        change(state, schedulers=None if names == own else names)

    hint = "By default those of the scenario; their options apply here too."
    wanted = own if form.schedulers is None else form.schedulers
    chosen = [n for n in wanted if n in own or n in scheduler_names()]
    scheduler_picker("sweep-schedulers", "Schedulers to sweep", chosen, hint, choose)


def _changer(state: AppState, key: str, name: str) -> Callable[[], None]:
    return lambda: change(state, **{name: st.session_state[key]})


def _ends_changer(state: AppState, key: str, of: Range, name: str) -> Callable[[], None]:
    return lambda: change_ends(state, of, **{name: st.session_state[key]})
