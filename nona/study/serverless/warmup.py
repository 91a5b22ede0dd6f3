"""How many calls pass before a serverless run is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nona.gpu_sharing.registry import WAYS
from nona.options import Options
from nona.scenario.schema import Scenario
from nona.serverless.engine.run import RunOptions
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Policy
from nona.serverless.policies.registry import get_policy
from nona.serverless.records.measured import slo_ratios
from nona.serverless.records.overload import judge
from nona.serverless.replications import run_policies
from nona.simulation.sizes import auto_warmup
from nona.simulation.statistics.warmup import mser
from nona.simulation.workload.arrivals import effective_rate

COLD_STARTS = 3.0  # longest cold starts that pass before calls are measured
LOOKS = 30.0  # looks at the number of standing instances that pass before calls are measured
MOST = 20_000  # calls that a warm-up without a stated length has at most
PILOTS = 3
LONGEST = 20.0  # SLOs that a call which was not complete counts for in a pilot


def calls_per_s(system: ServerlessSystem) -> float:
    """Calls a second of all applications together."""
    if system.interval is not None:
        return 2 / (system.interval.least + system.interval.most)
    return sum(effective_rate(app.arrivals, app.rate) for app in system.applications)


def warmup_calls(
    scenario: Scenario,
    system: ServerlessSystem,
    calls: int,
    policies: Sequence[tuple[str, Options]] = (),
) -> int:
    """Calls before the measured ones: the scenario's number, else enough for the start to be over.

    Formula: a, the usual share of ``calls`` (:func:`~nona.simulation.sizes.auto_warmup`), and where the
    first calls may lack containers max(a, min(20 000, ⌈3 · c · r⌉)), with c the longest cold start of a
    function in seconds and r the calls per second. Containers that the first calls lack are there after c;
    then the calls that waited are served. That 3 c are enough is measured: MSER-5 cuts pilots that start with
    one container of each function after 2.0 to 3.4 c (``tests/serverless/test_serverless_warmup.py``).
    Where instances of one of the ``policies`` (name, options) stand: at least min(20 000, ⌈30 · s · r⌉),
    with s the seconds between two looks at their number: they begin with none, and what waited in the
    meantime is served by and by. MSER-5 cuts pilots of the shipped settings after 6 to 10 s, and where
    FaST-GShare's instances are busy for 90 % of their time the queues of the start last for 25 s.
    """
    warmup = scenario.simulation.warmup
    if isinstance(warmup, int):
        return warmup
    looks_s = max((_scale_s(name, options) for name, options in policies), default=0.0)
    usual = max(auto_warmup(calls), min(MOST, math.ceil(LOOKS * looks_s * calls_per_s(system))))
    if not may_start_cold(system):
        return usual
    cold_s = max((f.cold_start_s for f in system.functions), default=0.0)
    return max(usual, min(MOST, math.ceil(COLD_STARTS * cold_s * calls_per_s(system))))


def _scale_s(name: str, options: Options) -> float:
    """Seconds between two looks of a policy at its instances; 0 where none stand."""
    given = {**get_policy(name).defaults, **options}
    scale_s = given.get("scale_s")
    return float(scale_s) if given.get("standing") is True and isinstance(scale_s, int | float) else 0.0


def may_start_cold(system: ServerlessSystem) -> bool:
    """Whether a node may run more batches at once than it has containers of a function at the start.

    Every batch holds at least the vCPUs and vGPUs of the smallest configuration. Where memory does not hold
    all containers of the start, some function has fewer.
    """
    memory, warm = system.memory, system.containers.warm
    if memory is not None and warm * sum(memory.container_bytes) > min(memory.node_bytes):
        return True
    space, sharing = system.space, system.sharing
    times = sharing.oversubscription if WAYS.find(sharing.mode).oversubscribes else 1.0
    at_once = [
        min(n.vcpus // int(space.vcpus.min()), int(times * n.gpus * n.vgpus) // int(space.vgpus.min()))
        for n in system.invokers
    ]
    return system.containers.warm < max(at_once)


def mser_calls(
    system: ServerlessSystem, policies: Sequence[tuple[Policy, Options]], calls: int, workers: int = 1
) -> int:
    """The warm-up that pilot runs show: the latest cut of MSER-5 of all policies with a steady state.

    The series is latency over SLO of every call in order of arrival, at most 20, averaged over the pilots.
    A pilot that is too short to tell counts with its whole length.
    """
    records = run_policies(system, policies, RunOptions(calls=calls, warmup=0), PILOTS, workers)
    cuts = []
    for runs in records.values():
        if any(judge(r)[0] == "overloaded" for r in runs):
            continue
        series = [np.fmin(np.nan_to_num(slo_ratios(system, r), nan=LONGEST), LONGEST) for r in runs]
        found = mser(np.mean(series, axis=0))
        cuts.append(calls if found.too_short else found.jobs)
    return max(cuts, default=0)
