"""A sweep's controls: which numbers, from where to where, kept and named."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from nona.errors import NonaError
from nona.report.sweep_findings import target_text
from nona.report.sweeps import parse_value, spaced
from nona.report.workloads import Offered
from nona.results.sweeps import TARGET, GridRequest, SweepRequest
from nona.scenario.file import scenario_hash
from nona.scenario.schema import Scenario
from nona.schedulers.registry import scheduler_names
from nona.study.sweep_bench import check_grid, check_settings, swept_scenario
from nona.study.sweep_numbers import CAPACITY, COMPUTE, LINK, LOAD, Number, number_named, numbers_of
from nona.ui.jobs.kinds import SIMULATION_PARTS
from nona.ui.pages.workload_facts import offered
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import acting, whole
from nona.ui.widgets.policy_choice import scheduler_picker
from nona.units import format_number, quantity_text

Settings = SweepRequest | GridRequest
JOBS, REPLICATIONS = 4000, 4
ENDS = ("low", "high", "count")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choices so far, ``None`` without one; ``ends``: low, high, count, by number."""

    key: str | None = None
    second: str = ""
    target: float = TARGET
    ends: Mapping[str, tuple[str, str, int]] = field(default_factory=dict)
    schedulers: tuple[str, ...] | None = None
    jobs: int | None = None
    replications: int | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """A number and its values: ``low`` and ``high`` as typed, about ``count`` of them."""

    key: str
    low: str
    high: str
    count: int


@dataclass(frozen=True, slots=True)
class Form:
    """The present controls; ``second`` ``None``: one number; ``schedulers`` ``None``: the scenario's."""

    first: Range
    second: Range | None
    schedulers: tuple[str, ...] | None
    jobs: int
    replications: int
    target: float


def form_of(state: AppState) -> Form:
    """The controls of this session; those of a number that has not been chosen yet have fitting ends."""
    chosen = state.choices.of(Chosen)
    keys = [n.key for n in numbers_of(state.scenario)]
    key = chosen.key if chosen.key in keys else keys[0]
    second = chosen.second if chosen.second in keys and chosen.second != key else ""
    simulation = state.scenario.simulation
    return Form(
        first=_range(state, key),
        second=_range(state, second) if second else None,
        schedulers=chosen.schedulers,
        jobs=chosen.jobs or min(simulation.jobs, JOBS),
        replications=chosen.replications or min(max(simulation.replications, 2), REPLICATIONS),
        target=chosen.target,
    )


def _range(state: AppState, key: str) -> Range:
    return Range(key, *(state.choices.of(Chosen).ends.get(key) or _ends(state, key)))


def change(state: AppState, **fields: Any) -> None:
    """Set controls; a choice of another number brings its own ends."""
    own = {k: v for k, v in fields.items() if k not in ENDS}
    chosen = replace(state.choices.of(Chosen), **own)
    state.choices.keep(chosen)
    ends = {k: v for k, v in fields.items() if k in ENDS}
    if ends:
        change_ends(state, form_of(state).first, **ends)


def change_ends(state: AppState, of: Range, **ends: Any) -> None:
    chosen, new = state.choices.of(Chosen), replace(of, **ends)
    state.choices.keep(replace(chosen, ends={**chosen.ends, of.key: (new.low, new.high, new.count)}))


def settings_of(state: AppState) -> Settings:
    """Read the sweep of one number or two from the form; raises :class:`~nona.errors.NonaError`."""
    sweep, second = _sweep_settings(state), form_of(state).second
    if second is None:
        check_settings(state.scenario, sweep)
        return sweep
    number, values = _values(state, second)
    settings = GridRequest(sweep=sweep, second=number.key, values=values)
    check_grid(state.scenario, settings)
    return settings


def _sweep_settings(state: AppState) -> SweepRequest:
    form = form_of(state)
    number, values = _values(state, form.first)
    chosen = form.schedulers if form.schedulers is not None else _scenario_schedulers(state.scenario)
    return SweepRequest(
        number=number.key,
        values=values,
        schedulers=chosen,
        jobs=form.jobs,
        replications=form.replications,
        edges=True,
        target=form.target,
    )


def _values(state: AppState, of: Range) -> tuple[Number, tuple[float, ...]]:
    number = number_named(state.scenario, of.key)
    low = parse_value(of.low, number.unit, "From")
    high = parse_value(of.high, number.unit, "To")
    return number, spaced(min(low, high), max(low, high), of.count, number.unit)


def _scenario_schedulers(scenario: Scenario) -> tuple[str, ...]:
    return tuple(dict.fromkeys(s.name for s in scenario.schedulers))


def sweep_version(scenario: Scenario, settings: Settings) -> str:
    """Return the version of all that a sweep depends on: not of the swept numbers' present values."""
    sweep = settings
    if isinstance(sweep, GridRequest):
        second = number_named(scenario, sweep.second)
        scenario, sweep = second.set(scenario, sweep.values[0]), sweep.sweep
    first = swept_scenario(scenario, sweep, sweep.values[0])
    whole = scenario_hash(first, *SIMULATION_PARTS) + json.dumps(settings.to_json(), sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def is_stale(state: AppState, version: str, settings: Settings) -> bool:
    """Return whether a sweep of that version and those settings belongs to an earlier scenario."""
    try:
        return sweep_version(state.scenario, settings) != version
    except NonaError:
        return True


def shell_arguments(settings: Settings) -> list[str]:
    """The arguments of ``nona sweep`` after the scenario's file."""
    if isinstance(settings, GridRequest):
        second = ["--second", settings.second, "--second-values", _written(settings.values)]
        return [*shell_arguments(settings.sweep), *second]
    named = [word for n in settings.schedulers for word in ("--scheduler", n)]
    size = ["--jobs", str(settings.jobs), "--replications", str(settings.replications)]
    target = [] if settings.target == TARGET else ["--target", f"{100 * settings.target:.12g}%"]
    return ["--key", settings.number, "--values", _written(settings.values), *named, *size, *target]


def work_text(settings: Settings) -> str:
    if isinstance(settings, GridRequest):
        one, rows = settings.sweep, len(settings.values)
    else:
        one, rows = settings, 0
    jobs = max(rows, 1) * len(one.values) * len(one.schedulers) * one.replications * one.jobs
    shown = f"{format_number(jobs / 1e6)} million" if jobs >= 1e6 else f"{jobs:,}"
    if not rows:
        return f"It simulates {shown} jobs, and more near edges; the first curves appear after a few seconds."
    return f"All pairs together are {shown} jobs, which may take minutes. Cancel keeps what is finished."


def _written(values: Sequence[float]) -> str:
    return ",".join(f"{v:.12g}" for v in values)


def _ends(state: AppState, key: str) -> tuple[str, str, int]:
    scenario = state.scenario
    if key in (LINK, COMPUTE):
        return "0 %", "95 %", 11
    if key == LOAD:
        return "0.4", f"{_past_the_edge(offered(state)):g}", 9
    if key == CAPACITY:
        here = scenario.cluster.network.capacity
        low, high = (str(quantity_text(here * f, "bandwidth")) for f in (1 / 16, 4.0))
        return low, high, 7
    count = _count(scenario, number_named(scenario, key))
    return str(max(1, count // 2)), str(2 * count), 9


def _past_the_edge(load: Offered | None) -> float:
    """A load beyond the one that saturates the executors at best, where that is above the usual 2."""
    if load is None or load.best <= 0:
        return 2.0
    return max(2.0, min(1000.0, float(math.ceil(1.1 * (1 - load.background) / load.best))))


def _count(scenario: Scenario, number: Number) -> int:
    index = int(number.key.partition("[")[2].partition("]")[0])
    return scenario.cluster.servers[index].count


MOST_VALUES, MOST_JOBS, MOST_RUNS = 60, 1_000_000, 100


def sweep_controls(state: AppState) -> None:
    form = form_of(state)
    numbers = {n.key: n.label for n in numbers_of(state.scenario)}
    with st.grid(4, min_column_width=150):
        hint = "The number of the scenario that varies; all else stays unchanged."
        _number(state, "Sweep", "key", numbers, form.first.key, hint)
        _end_fields(state, form.first, "")
    others = {"": "nothing", **{k: label for k, label in numbers.items() if k != form.first.key}}
    with st.grid(4, min_column_width=150):
        hint = "A second number: every pair of values is simulated and drawn as a heat map."
        _number(state, "Against", "second", others, form.second.key if form.second else "", hint)
        if form.second is not None:
            _end_fields(state, form.second, " (second)")
    with st.popover(_size(state, form), icon=":material/tune:", key="sweep-size"):
        _schedulers(state, form)
        hint = "More jobs reveal growing queues near an edge; fewer answer sooner."
        _whole(state, "Jobs per run", "jobs", form.jobs, MOST_JOBS, hint)
        hint = "Independent runs at each value: they give the intervals."
        _whole(state, "Runs per value", "replications", form.replications, MOST_RUNS, hint)
        _target(state, form)


def _size(state: AppState, form: Form) -> str:
    count = len(_scenario_schedulers(state.scenario) if form.schedulers is None else form.schedulers)
    schedulers, runs = "s" * (count != 1), "s" * (form.replications != 1)
    size = f"{count} scheduler{schedulers}, {form.replications} run{runs} of {form.jobs:,} jobs"
    return f"{size}, target {target_text(form.target)}"


def _number(state: AppState, label: str, name: str, options: dict[str, str], chosen: str, hint: str) -> None:
    st.selectbox(
        label,
        list(options),
        list(options).index(chosen),
        format_func=options.__getitem__,
        **acting(f"sweep-{name}-{state.revision}-{len(options)}", lambda key: change(state, **{name: key})),
        help=hint,
    )


def _end_fields(state: AppState, of: Range, which: str) -> None:
    for label, name, value, hint in (
        ("From", "low", of.low, "First value, with its unit."),
        ("To", "high", of.high, "Last value, with its unit."),
    ):
        changed = acting(f"sweep-{name}-{of.key}-{state.revision}", _ends_changer(state, of, name))
        st.text_input(f"{label}{which}", value, **changed, help=hint)
    changed = acting(
        f"sweep-count-{of.key}-{state.revision}", lambda count: change_ends(state, of, count=round(count))
    )
    hint = "Round values between the two ends."
    whole(f"Values, about{which}", 1, MOST_VALUES, of.count, hint=hint, **changed)


def _target(state: AppState, form: Form) -> None:
    st.number_input(
        "SLO target, %",
        50.0,
        99.99,
        100 * form.target,
        0.1,
        format="%.6g",
        **acting(f"sweep-target-{state.revision}", lambda share: change(state, target=round(share / 100, 6))),
        help="Share of the SLOs to keep: the charts draw it, the findings say up to where it is kept.",
    )


def _whole(state: AppState, label: str, name: str, value: int, most: int, hint: str) -> None:
    changed = acting(f"sweep-{name}-{state.revision}", lambda typed: change(state, **{name: round(typed)}))
    whole(label, 1, most, value, hint=hint, **changed)


def _schedulers(state: AppState, form: Form) -> None:
    own = _scenario_schedulers(state.scenario)

    def choose(names: tuple[str, ...]) -> None:
        change(state, schedulers=None if names == own else names)

    hint = "By default those of the scenario; their options apply here too."
    wanted = own if form.schedulers is None else form.schedulers
    chosen = [n for n in wanted if n in own or n in scheduler_names()]
    scheduler_picker("sweep-schedulers", "Schedulers to sweep", chosen, hint, choose)


def _ends_changer(state: AppState, of: Range, name: str) -> Callable[[str], None]:
    return lambda typed: change_ends(state, of, **{name: typed})
