"""A sweep's controls, kept over pages and reloads: which numbers, which values, how many runs."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from nona.app.pages.scenario.workload_facts import offered
from nona.app.session.kept import choose
from nona.app.session.state import AppState
from nona.app.widgets.fields import acting, selector, whole
from nona.app.widgets.policy_choice import kept_schedulers
from nona.core.errors import NonaError
from nona.core.text import count_text
from nona.core.units import format_number
from nona.queries.family import SIMULATED
from nona.queries.report.workloads import OfferedLoad
from nona.queries.schedulers.registry import scheduler_names
from nona.queries.sweeps.findings import target_text
from nona.queries.sweeps.numbers import LOAD, number_named, numbers_of
from nona.queries.sweeps.report import parse_values
from nona.queries.sweeps.results import TARGET, GridOutcome, GridRequest, SweepOutcome, SweepRequest
from nona.queries.sweeps.sweep_points import check_grid, check_settings, swept_scenario
from nona.scenario.file import scenario_hash
from nona.scenario.schema import Scenario

Settings = SweepRequest | GridRequest
JOBS, REPLICATIONS = 4000, 4
MOST_JOBS, MOST_RUNS = 1_000_000, 100
LEAST_TARGET, MOST_TARGET = 0.5, 0.9999
KEPT = "sweep-shown-"
T = TypeVar("T")
N = TypeVar("N", int, float)


def choose_sweep(state: AppState, name: str, value: Any) -> None:
    """Set ``number``, ``values-`` and a number's key, ``second``, ``schedulers``, ``jobs`` and so on."""
    choose(state, f"{KEPT}{name}", value)


def _chosen(state: AppState, name: str, usual: T) -> T:
    """Return what was chosen; the default where nothing was, or a link brought an unknown value."""
    chosen = state.kept.get(f"{KEPT}{name}", usual)
    return chosen if isinstance(chosen, type(usual)) else usual


def _number_within(state: AppState, name: str, usual: N, least: N, most: N) -> N:
    return min(max(_chosen(state, name, usual), least), most)


def settings_of(state: AppState) -> Settings:
    """Read the sweep of one number or two from the choices; raises :class:`~nona.core.errors.NonaError`."""
    number, second = _numbers(state)
    sweep = SweepRequest(
        number=number,
        values=_values(state, number),
        schedulers=_schedulers(state),
        jobs=_jobs(state),
        replications=_replications(state),
        target=_target(state),
    )
    if not second:
        check_settings(state.scenario, sweep)
        return sweep
    settings = GridRequest(sweep=sweep, second=second, values=_values(state, second))
    check_grid(state.scenario, settings)
    return settings


def _numbers(state: AppState) -> tuple[str, str]:
    """Return the keys of the swept number and of the second, which is empty where there is none."""
    keys = [n.key for n in numbers_of(state.scenario)]
    first, second = _chosen(state, "number", keys[0]), _chosen(state, "second", "")
    first = first if first in keys else keys[0]
    return first, second if second in keys and second != first else ""


def _schedulers(state: AppState) -> tuple[str, ...]:
    return tuple(_chosen(state, "schedulers", _own_schedulers(state)))


def _own_schedulers(state: AppState) -> list[str]:
    return list(dict.fromkeys(s.name for s in state.scenario.schedulers))


def _jobs(state: AppState) -> int:
    return _number_within(state, "jobs", min(state.scenario.simulation.jobs, JOBS), 1, MOST_JOBS)


def _replications(state: AppState) -> int:
    usual = min(max(state.scenario.simulation.replications, 2), REPLICATIONS)
    return _number_within(state, "replications", usual, 1, MOST_RUNS)


def _target(state: AppState) -> float:
    return _number_within(state, "target", TARGET, LEAST_TARGET, MOST_TARGET)


def _values(state: AppState, number: str) -> tuple[float, ...]:
    return parse_values(_values_text(state, number), number_named(state.scenario, number).unit, "Values")


def _values_text(state: AppState, number: str) -> str:
    usual = number_named(state.scenario, number).usual
    if number == LOAD:
        usual = f"0.4 to {_past_the_edge(offered(state)):g}"
    return _chosen(state, f"values-{number}", usual)


def _past_the_edge(load: OfferedLoad | None) -> float:
    """Return a load beyond the one that saturates the executors at best, where that is above the usual 2."""
    if load is None or load.best <= 0:
        return 2.0
    return max(2.0, min(1000.0, float(math.ceil(1.1 * (1 - load.background) / load.best))))


def sweep_version(scenario: Scenario, settings: Settings) -> str:
    """Return the version of a sweep's scenario and settings, without the swept numbers' present values."""
    sweep = settings
    if isinstance(sweep, GridRequest):
        second = number_named(scenario, sweep.second)
        scenario, sweep = second.with_value(scenario, sweep.values[0]), sweep.sweep
    first = swept_scenario(scenario, sweep, sweep.values[0])
    whole = scenario_hash(first, *SIMULATED) + json.dumps(settings.to_json(), sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def is_stale(state: AppState, version: str, settings: Settings) -> bool:
    """Return whether a sweep of that version and those settings belongs to an earlier scenario."""
    try:
        return sweep_version(state.scenario, settings) != version
    except NonaError:
        return True


def ask_again(state: AppState, outcome: SweepOutcome | GridOutcome) -> str:
    """Make the page ask for the sweep that gave this outcome; return its version."""
    settings = outcome.settings
    sweep, two = (settings.sweep, settings) if isinstance(settings, GridRequest) else (settings, None)
    chosen: dict[str, Any] = {
        "number": sweep.number,
        f"values-{sweep.number}": _written(sweep.values),
        "schedulers": list(sweep.schedulers),
        "jobs": sweep.jobs,
        "replications": sweep.replications,
        "target": sweep.target,
        "second": "" if two is None else two.second,
    }
    if two is not None:
        chosen[f"values-{two.second}"] = _written(two.values)
    for name, value in chosen.items():
        choose_sweep(state, name, value)
    return sweep_version(state.scenario, settings)


def shell_arguments(settings: Settings) -> list[str]:
    """Return the arguments of ``nona sweep`` after the scenario's file."""
    if isinstance(settings, GridRequest):
        second = ["--second", settings.second, "--second-values", _written(settings.values)]
        return [*shell_arguments(settings.sweep), *second]
    named = [word for n in settings.schedulers for word in ("--scheduler", n)]
    size = ["--jobs", str(settings.jobs), "--replications", str(settings.replications)]
    target = [] if settings.target == TARGET else ["--target", f"{100 * settings.target:.12g}%"]
    return ["--key", settings.number, "--values", _written(settings.values), *named, *size, *target]


def work_text(settings: Settings) -> str:
    """Say how many jobs a sweep simulates."""
    if isinstance(settings, GridRequest):
        one, rows = settings.sweep, len(settings.values)
    else:
        one, rows = settings, 0
    jobs = max(rows, 1) * len(one.values) * len(one.schedulers) * one.replications * one.jobs
    shown = f"{format_number(jobs / 1e6)} million" if jobs >= 1e6 else f"{jobs:,}"
    if not rows:
        return f"A sweep simulates {shown} jobs, and more near edges. The first curves appear in seconds."
    return f"All pairs together are {shown} jobs, which may take minutes. Cancel keeps what is finished."


def _written(values: Sequence[float]) -> str:
    return ",".join(f"{v:.12g}" for v in values)


def sweep_controls(state: AppState) -> None:
    """Draw the settings of a sweep."""
    numbers = {n.key: n.label for n in numbers_of(state.scenario)}
    first, second = _numbers(state)
    others = {"": "nothing", **{key: label for key, label in numbers.items() if key != first}}
    with st.grid(4, min_column_width=150):
        hint = "The number of the scenario that varies; all else stays unchanged."
        _number_field(state, "Sweep", "number", numbers, first, hint)
        _values_field(state, "Values", first)
        hint = "A second number: every pair of values is simulated and drawn as a heat map."
        _number_field(state, "Against", "second", others, second, hint)
        if second:
            _values_field(state, "Values (second)", second)
    with st.popover(_size_text(state), icon=":material/tune:", key="sweep-size"):
        hint = "By default the scenario's schedulers, with their options."
        own = _own_schedulers(state)
        allowed = {*own, *scheduler_names()}
        kept_schedulers(state, f"{KEPT}schedulers", "Schedulers to sweep", own, allowed, hint)
        hint = "More jobs reveal growing queues near an edge; fewer jobs take less time."
        whole("Jobs per run", 1, MOST_JOBS, _jobs(state), hint=hint, **_acting(state, "jobs", round))
        hint = "Independent runs at each value: they give the intervals."
        runs = _acting(state, "replications", round)
        whole("Runs per value", 1, MOST_RUNS, _replications(state), hint=hint, **runs)
        hint = "Share of the SLOs to keep. The charts draw it; the findings say up to which value it is kept."
        share = _acting(state, "target", lambda typed: round(typed / 100, 6))
        least, most, now = (100 * t for t in (LEAST_TARGET, MOST_TARGET, _target(state)))
        st.number_input("SLO target, %", least, most, now, 0.1, format="%.6g", help=hint, **share)


def _size_text(state: AppState) -> str:
    count, runs = len(_schedulers(state)), _replications(state)
    size = f"{count_text(count, 'scheduler')}, {count_text(runs, 'run')} of {_jobs(state):,} jobs"
    return f"{size}, target {target_text(_target(state))}"


def _acting(state: AppState, name: str, read: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the key of a field, and what takes its value as the choice of that name."""
    return acting(f"sweep-{name}-{state.revision}", lambda value: choose_sweep(state, name, read(value)))


def _number_field(
    state: AppState, label: str, name: str, options: Mapping[str, str], now: str, hint: str
) -> None:
    key = f"sweep-{name}-{state.revision}-{len(options)}"
    take = partial(choose_sweep, state, name)
    selector(label, list(options), now, key, take, hint, format_func=options.__getitem__)


def _values_field(state: AppState, label: str, number: str) -> None:
    taken = _acting(state, f"values-{number}", str)
    hint = "FIRST to LAST, with units: about ten round values. Or FIRST:LAST:STEP, or values with commas."
    st.text_input(label, _values_text(state, number), help=hint, **taken)
