"""The controls of a sweep: which number, from where to where, which schedulers, how many runs."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from nona.schedulers.registry import scheduler_names
from nona.study import numbers_of
from nona.ui.pages.sweep.settings import Form, change, form_of, scenario_schedulers
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain

MOST_VALUES, MOST_JOBS, MOST_RUNS = 60, 1_000_000, 100


def sweep_controls(state: AppState) -> None:
    """Fields with content that stays with the session."""
    form = form_of(state)
    with st.grid(4, min_column_width=150):
        _number(state, form)
        _end(state, form, "From", "low", form.low, "First value, with its unit.")
        _end(state, form, "To", "high", form.high, "Last value, with its unit.")
        _whole(state, "Values, about", "count", form.count, MOST_VALUES, "Round values between the two ends.")
    with st.popover(_size(state, form), icon=":material/tune:", key="sweep-size"):
        _schedulers(state, form)
        hint = "More jobs reveal growing queues near an edge; fewer answer sooner."
        _whole(state, "Jobs per run", "jobs", form.jobs, MOST_JOBS, hint)
        hint = "Independent runs at each value: they give the intervals."
        _whole(state, "Runs per value", "replications", form.replications, MOST_RUNS, hint)


def _size(state: AppState, form: Form) -> str:
    """The size of the sweep in a few words; they open its fields."""
    count = len(scenario_schedulers(state.scenario) if form.schedulers is None else form.schedulers)
    schedulers, runs = "s" * (count != 1), "s" * (form.replications != 1)
    return f"{count} scheduler{schedulers}, {form.replications} run{runs} of {form.jobs:,} jobs"


def _number(state: AppState, form: Form) -> None:
    numbers = {n.key: n for n in numbers_of(state.scenario)}
    key = f"sweep-number-{state.revision}"
    st.selectbox(
        "Sweep",
        list(numbers),
        list(numbers).index(form.key),
        format_func=lambda k: plain(numbers[k].label),
        key=key,
        on_change=_changer(state, key, "key"),
        help="The number of the scenario that varies; all else stays unchanged.",
    )


def _end(state: AppState, form: Form, label: str, name: str, value: str, hint: str) -> None:
    key = f"sweep-{name}-{form.key}-{state.revision}"
    st.text_input(label, value, key=key, on_change=_changer(state, key, name), help=hint)


def _whole(state: AppState, label: str, name: str, value: int, most: int, hint: str) -> None:
    key = f"sweep-{name}-{form_of(state).key if name == 'count' else ''}-{state.revision}"
    st.number_input(label, 1, most, value, 1, key=key, on_change=_changer(state, key, name), help=hint)


def _schedulers(state: AppState, form: Form) -> None:
    own = scenario_schedulers(state.scenario)
    options = list(dict.fromkeys([*own, *scheduler_names()]))
    wanted = own if form.schedulers is None else form.schedulers
    chosen = [n for n in wanted if n in options]
    key = f"sweep-schedulers-{state.revision}-{' '.join(own)}"

    def choose() -> None:
        names = tuple(st.session_state[key])
        change(state, schedulers=None if names == own else names)

    st.multiselect(
        "Schedulers to sweep",
        options,
        chosen,
        key=key,
        on_change=choose,
        help="By default those of the scenario; their options apply here too.",
    )


def _changer(state: AppState, key: str, name: str) -> Callable[[], None]:
    return lambda: change(state, **{name: st.session_state[key]})
