"""About how long a job takes, said before it starts: by its scenario, and by how long others took.

The seconds are those of two cores of usual speed, and of the engine that will run: until the code is
compiled, SimPy. Each kind of job is corrected by what its latest jobs took beside what was expected: on a
slow machine only the first estimate is far off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from nona.core.compiled.build import is_ready
from nona.core.units import duration
from nona.queries.schedulers.registry import SCHEDULERS
from nona.queries.workflows.race import SLOWER
from nona.scenario.schema import Scenario
from nona.scenario.values import NamedSpec

Options = Mapping[str, Any]
START_S = 1.0  # of a process that waits, and of reading models that are known
JOB_S = 1.5e-5  # of a simulated query
PLACED_S, REHEARSED_S = 2.0, 6.0  # of each row of the workload; of each scheduler that rehearses
SLICED = 2.0  # times as long where GPUs are shared: there are more executors, of several classes
COMPILE_S: Mapping[str, float] = MappingProxyType(  # of the code of each family, in the background
    {"queries": 90.0, "serverless": 40.0, "training": 30.0, "language": 15.0}
)
LOOKS = 24  # replications for a verdict, about
FACTORS = 4  # loads and failures that a check tries
_REQUEST_S, _CALL_S, _ROUND_S = 2e-3, 4e-4, 2e-3


def _sliced(scenario: Scenario) -> float:
    shared = any(group.mig or group.mps for group in scenario.cluster.servers)
    return SLICED if shared else 1.0


def _place(scenario: Scenario) -> float:
    return PLACED_S * len(scenario.workload) * _sliced(scenario)


def _placed(scenario: Scenario, schedulers: Sequence[NamedSpec]) -> float:
    """Seconds before the first replication: a placement, and rehearsals."""
    known = [SCHEDULERS.find(s.name) for s in schedulers if s.name in SCHEDULERS]
    placing = _place(scenario) if any(s.needs_placement for s in known) else 0.0
    return placing + REHEARSED_S * sum(bool(s.rehearsals) for s in known)


def _queries(scenario: Scenario, runs: float = 1.0) -> float:
    return _simulated(scenario, scenario.simulation.jobs, runs)


def _simulated(scenario: Scenario, jobs: float, runs: float) -> float:
    """Seconds of so many runs, which change over to machine code one by one once that is compiled."""
    one_s = JOB_S * _sliced(scenario) * jobs
    if is_ready():
        return one_s * runs
    return min(SLOWER * one_s * runs, COMPILE_S["queries"] + SLOWER * one_s + one_s * runs)


def _compiled_first(family: str) -> float:
    """Seconds until the code is there that runs of a family wait for."""
    return 0.0 if is_ready(family) else COMPILE_S[family]


def _simulate(scenario: Scenario, _options: Options) -> float:
    schedulers = scenario.schedulers
    return _placed(scenario, schedulers) + _queries(
        scenario, scenario.simulation.replications * len(schedulers)
    )


def _holds(scenario: Scenario, options: Options) -> float:
    chosen = [s for s in scenario.schedulers if s.name == options.get("scheduler")]
    return FACTORS * _placed(scenario, chosen) + _queries(scenario, FACTORS * LOOKS)


def _plan(scenario: Scenario, _options: Options) -> float:
    spec = scenario.plan
    offers = len(spec.offers) if spec is not None and spec.offers else len(scenario.cluster.servers)
    schedulers = spec.schedulers if spec is not None and spec.schedulers else scenario.schedulers
    times = FACTORS * offers
    return times * _placed(scenario, schedulers) + _queries(scenario, times * LOOKS * len(schedulers))


def _swept(scenario: Scenario, options: Options) -> float:
    sweep = options.get("sweep", options)
    values = len(sweep["values"]) * (len(options["values"]) if "sweep" in options else 1)
    chosen = [s for s in scenario.schedulers if s.name in sweep["schedulers"]]
    runs = values * sweep["replications"] * len(sweep["schedulers"])
    return values * _placed(scenario, chosen) + _simulated(scenario, sweep["jobs"], runs)


def _requests(scenario: Scenario, _options: Options, times: int = 1) -> float:
    spec = scenario.simulation
    runs = times * spec.replications * len(scenario.routers)
    return _compiled_first("language") + _REQUEST_S * spec.jobs * runs


def _calls(scenario: Scenario, _options: Options, times: int = 1) -> float:
    spec, part = scenario.simulation, scenario.serverless
    runs = times * spec.replications * (len(part.policies) if part is not None else 1)
    return _compiled_first("serverless") + _CALL_S * spec.jobs * runs


def _training(scenario: Scenario, _options: Options) -> float:
    part = scenario.training
    if part is None:
        return 0.0
    jobs = len(part.jobs) or (part.generate.jobs if part.generate is not None else 100)
    return _ROUND_S * jobs * len(part.policies) * scenario.simulation.replications


EXPECTED: Mapping[str, Callable[[Scenario, Options], float]] = MappingProxyType(
    {
        "place": lambda scenario, options: _place(scenario),
        "simulate": _simulate,
        "holds": _holds,
        "plan": _plan,
        "sweep": _swept,
        "grid": _swept,
        "language": _requests,
        "language-plan": partial(_requests, times=LOOKS),
        "count": lambda scenario, options: 2.0,
        "validate": lambda scenario, options: 20.0,
        "serverless": _calls,
        "serverless-sharing": partial(_calls, times=5),
        "serverless-over": partial(_calls, times=10),
        "serverless-nodes": partial(_calls, times=10),
        "training": _training,
        "training-one-more": _training,
        "training-elastic": lambda scenario, options: _compiled_first("training") + 60.0,
    }
)
"""Kind of job → seconds, for a scenario and what is asked beyond it."""


def expected_s(kind: str, scenario: Scenario, options: Options) -> float:
    """Seconds that a job takes now on a machine of usual speed, start included."""
    return START_S + EXPECTED[kind](scenario, options)


def about_text(seconds: float) -> str:
    """Return an expected time without false precision.

    >>> [about_text(s) for s in (1.2, 7.4, 34, 88, 740, 9000)]
    ['a few seconds', 'about 7 s', 'about 30 s', 'about 90 s', 'about 12 min', 'over an hour']
    """
    if seconds < 4:
        return "a few seconds"
    if seconds > 3600:
        return "over an hour"
    if seconds < 120:
        return f"about {duration(max(4.0, float(f'{seconds:.1g}'))).replace('.0 s', ' s')}"
    return f"about {math.ceil(seconds / 60 - 0.5)} min"
