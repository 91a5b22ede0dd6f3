"""Orion: all stages sized at once, when the first one is scheduled, so that a percentile keeps the SLO.

The search (:mod:`~nona.serverless.policies.orion.search`) takes modelled time, for which every call waits
that is planned; its plan is carried along and never changed.

Source: Mahgoub et al., Orion, OSDI 2022.
"""

from __future__ import annotations

from types import MappingProxyType

from nona.errors import SimulationError
from nona.look import Look
from nona.options import Options
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Ask, Place, Plan, Policy
from nona.serverless.policies.carried import CarriedPlans
from nona.serverless.policies.options import known_options, number, percentile, whole
from nona.serverless.policies.orion.search import Found, Limits, Model, search

#: Seconds of one core to convolve the latency distributions of three to five stages in bins of 1 ms.
STEP_S = 1e-3
DEFAULTS: Options = MappingProxyType(
    {"cutoff_s": 0.1, "step_s": STEP_S, "percentile": None, "priority": "latency", "rounds": 10_000}
)


class OrionPlanner:
    """Orion for one system; ``found`` holds what the search found for each application."""

    place: Place | None = None

    def __init__(self, system: ServerlessSystem, aim: float, limits: Limits) -> None:
        self.found: tuple[Found, ...] = tuple(
            search(system, Model(system, app, aim), limits) for app in system.applications
        )
        self._search_s = [min(f.steps * limits.step_s, limits.cutoff_s) for f in self.found]
        self._carried = CarriedPlans(system)

    def plan(self, ask: Ask) -> Plan:
        """What is carried, else the application's plan, for which the search is charged."""
        found = self.found[ask.application]
        state = found.state if ask.carried is None else ask.carried
        return self._carried.answer(ask, state, self._search_s[ask.application], found.steps)


def prepare(system: ServerlessSystem, options: Options) -> OrionPlanner:
    """Search once for every application: the result depends on nothing that happens later."""
    given = known_options("orion", options, DEFAULTS)
    priority = given["priority"]
    if not isinstance(priority, str) or priority not in ("latency", "cost"):
        raise SimulationError(
            f"Policy 'orion': option priority={priority!r} is not known; choose from latency, cost."
        )
    limits = Limits(
        number("orion", given, "cutoff_s"),
        number("orion", given, "step_s"),
        whole("orion", given, "rounds", most=1_000_000),
        priority,
    )
    return OrionPlanner(system, percentile("orion", given, system), limits)


POLICY = Policy(
    name="orion",
    title="Orion",
    summary="Sizes all stages once, by best-first search on the latency's 95th percentile, with a cut-off.",
    source="Mahgoub et al., Orion, OSDI 2022; icanforce/Orion-OSDI22",
    adaptation=(
        "Sizes are jobs, vCPUs and vGPUs in place of memory. Latencies are normal in place of measured "
        "distributions, and batches are taken to be full. The search is best first over all states seen, "
        "where the code continues only from the last; the cut-off (recollected: 0.1 s) and the time per "
        "evaluated neighbour (an assumption: what convolving latency distributions took on one core) are "
        "options, and the modelled time is charged to every call that is planned. On a cut-off the best "
        "so far is used. Bundling is left out, pre-warming is the platform's. A plan that cannot be used "
        "is a configuration miss; the nearest configurations are our fall-backs, Orion has none."
    ),
    prepare=prepare,
    defaults=DEFAULTS,
    option_help=MappingProxyType(
        {
            "cutoff_s": "Modelled seconds after which the search stops with the best so far.",
            "step_s": "Modelled seconds to evaluate one neighbour.",
            "percentile": "Percentile of the latency that must keep the SLO; by default the scenario's.",
            "priority": "What the search expands first: the least latency (latency, as in Orion's code) "
            "or the least cost (cost).",
            "rounds": "Largest number of states expanded.",
        }
    ),
    look=Look("#2b8fd6", "solid", "triangle-down"),
    by_length=True,
)
