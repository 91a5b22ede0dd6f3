"""What the sweep's controls say: kept in the session, read into settings, and named by a fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nona.errors import NonaError
from nona.report.sweeps.values import parse_value, spaced
from nona.results.sweep import SweepRequest
from nona.scenario.file import scenario_hash
from nona.scenario.schema import Scenario
from nona.study import Number, number_named, numbers_of
from nona.study.sweeps.numbers import CAPACITY, COMPUTE, LINK, LOAD
from nona.study.sweeps.settings import SweepSettings, check_settings, swept_scenario
from nona.ui.jobs.kinds import SIMULATION_PARTS
from nona.ui.session.state import AppState
from nona.ui.tasks.sweep import request_of, settings_from
from nona.units import quantity_text

JOBS, REPLICATIONS = 4000, 4


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen so far, ``None`` where nothing was; ``ends``: low, high, count, by number."""

    key: str | None = None
    ends: Mapping[str, tuple[str, str, int]] = field(default_factory=dict)
    schedulers: tuple[str, ...] | None = None
    jobs: int | None = None
    replications: int | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """The present controls; ``low`` and ``high`` as typed, ``schedulers`` ``None``: the scenario's."""

    key: str
    low: str
    high: str
    count: int
    schedulers: tuple[str, ...] | None
    jobs: int
    replications: int


def form_of(state: AppState) -> Form:
    """The controls of this session; those of a number that has not been chosen yet have fitting ends."""
    held = state.choices.of(Chosen)
    keys = [n.key for n in numbers_of(state.scenario)]
    key = held.key if held.key in keys else keys[0]
    low, high, count = held.ends.get(key) or _ends(state.scenario, key)
    simulation = state.scenario.simulation
    return Form(
        key=key,
        low=low,
        high=high,
        count=count,
        schedulers=held.schedulers,
        jobs=held.jobs or min(simulation.jobs, JOBS),
        replications=held.replications or min(max(simulation.replications, 2), REPLICATIONS),
    )


def change(state: AppState, **fields: Any) -> None:
    """Set controls; a choice of another number brings its own ends."""
    if "key" in fields:
        state.choices.keep(replace(state.choices.of(Chosen), key=fields.pop("key")))
    form, held = replace(form_of(state), **fields), state.choices.of(Chosen)
    if {"low", "high", "count"} & fields.keys():
        held = replace(held, ends={**held.ends, form.key: (form.low, form.high, form.count)})
    own = {k: fields[k] for k in ("schedulers", "jobs", "replications") if k in fields}
    state.choices.keep(replace(held, **own))


def settings_of(state: AppState) -> SweepSettings:
    """What would be swept; raises :class:`~nona.errors.NonaError` naming the field that is wrong."""
    form = form_of(state)
    number = number_named(state.scenario, form.key)
    low = parse_value(form.low, number.unit, "From")
    high = parse_value(form.high, number.unit, "To")
    low, high = min(low, high), max(low, high)
    chosen = form.schedulers if form.schedulers is not None else scenario_schedulers(state.scenario)
    settings = SweepSettings(
        number, spaced(low, high, form.count, number.unit), chosen, form.jobs, form.replications
    )
    check_settings(state.scenario, settings)
    return settings


def scenario_schedulers(scenario: Scenario) -> tuple[str, ...]:
    """The schedulers of the scenario, each once."""
    return tuple(dict.fromkeys(s.name for s in scenario.schedulers))


def sweep_fingerprint(scenario: Scenario, settings: SweepSettings) -> str:
    """What a sweep's result depends on: not on the present value of the swept number in the scenario."""
    first = swept_scenario(scenario, settings, settings.values[0])
    named = json.dumps(request_of(settings).to_json(), sort_keys=True)
    whole = scenario_hash(first, *SIMULATION_PARTS) + named
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def is_stale(state: AppState, fingerprint: str, settings: SweepRequest) -> bool:
    """Whether a sweep of that fingerprint and those settings belongs to an earlier scenario."""
    try:
        return sweep_fingerprint(state.scenario, settings_from(state.scenario, settings)) != fingerprint
    except NonaError:
        return True


def shell_arguments(settings: SweepSettings) -> list[str]:
    """The arguments of ``nona sweep`` after the scenario's file."""
    written = ",".join(f"{v:.12g}" for v in settings.values)
    named = [word for n in settings.schedulers for word in ("--scheduler", n)]
    size = ["--jobs", str(settings.jobs), "--replications", str(settings.replications)]
    return ["--key", settings.number.key, "--values", written, *named, *size]


def _ends(scenario: Scenario, key: str) -> tuple[str, str, int]:
    if key in (LINK, COMPUTE):
        return "0 %", "95 %", 11
    if key == LOAD:
        return "0.4", "2", 9
    if key == CAPACITY:
        here = scenario.cluster.network.capacity
        low, high = (str(quantity_text(here * f, "bandwidth")) for f in (1 / 16, 4.0))
        return low, high, 7
    count = _count(scenario, number_named(scenario, key))
    return str(max(1, count // 2)), str(2 * count), 9


def _count(scenario: Scenario, number: Number) -> int:
    index = int(number.key.partition("[")[2].partition("]")[0])
    return scenario.cluster.servers[index].count
