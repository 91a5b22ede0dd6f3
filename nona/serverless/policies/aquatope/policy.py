"""Aquatope: all stages sized by Bayesian optimisation, offline; the plan is looked up and never changed.

Training: :mod:`~nona.serverless.policies.aquatope.training`. It happens when the planner is made, and takes
no modelled time.

Source: Zhou, Zhang, Delimitrou, Aquatope, ASPLOS 2023.
"""

from __future__ import annotations

from types import MappingProxyType

from threadpoolctl import threadpool_limits

from nona.look import Look
from nona.options import Options
from nona.random_streams import RandomStreams
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.aquatope.training import Effort, Observation, Training
from nona.serverless.policies.base import Ask, Place, Plan, Policy
from nona.serverless.policies.carried import CarriedPlans
from nona.serverless.policies.options import known_options, percentile, whole

WHOLE = {"initial": 10_000, "rounds": 1_000, "candidates": 100, "samples": 10_000, "calls": 100_000}
DEFAULTS: Options = MappingProxyType(
    {"initial": 10, "rounds": 20, "candidates": 3, "samples": 32, "calls": 20, "percentile": None}
)


class AquatopePlanner:
    """Aquatope for one system; ``trained`` holds what was found best for each application."""

    place: Place | None = None

    def __init__(self, system: ServerlessSystem, effort: Effort) -> None:
        streams = RandomStreams(system.seed)
        trained: list[Observation] = []
        with threadpool_limits(limits=1):  # small matrices; threads would wait for each other
            for app in system.applications:
                draws = streams.generator("serverless", "aquatope", app.name)
                trained.append(Training(system, app, effort, draws).run())
        self.trained = tuple(trained)
        self._carried = CarriedPlans(system)

    def plan(self, ask: Ask) -> Plan:
        """What is carried, else the application's plan."""
        plan = self.trained[ask.application].plan if ask.carried is None else ask.carried
        return self._carried.answer(ask, plan)


def prepare(system: ServerlessSystem, options: Options) -> AquatopePlanner:
    """Train every application's plan."""
    given = known_options("aquatope", options, DEFAULTS)
    sizes = {
        name: whole("aquatope", given, name, 0 if name == "rounds" else 1, most)
        for name, most in WHOLE.items()
    }
    return AquatopePlanner(system, Effort(**sizes, percentile=percentile("aquatope", given, system)))


POLICY = Policy(
    name="aquatope",
    title="Aquatope",
    summary="Sizes all stages offline, by constrained Bayesian optimisation on two Gaussian processes.",
    source="Zhou, Zhang, Delimitrou, Aquatope, ASPLOS 2023; zzhou612/aquatope",
    adaptation=(
        "Sizes are jobs, vCPUs and vGPUs. Plans are evaluated in a small model (times, transfers and "
        "noise, full batches, no queues), not on a cluster; latency is a percentile of a few calls. "
        "Expected improvement is maximised over 128 points a round, not by gradients; the processes model "
        "logarithms; no outliers are removed; no plan is tried twice. The predictor of pre-warmed "
        "containers is left out: pre-warming is the platform's. Training takes no modelled time. A plan "
        "that cannot be used is a configuration miss; the nearest configurations are our fall-backs, "
        "Aquatope has none."
    ),
    prepare=prepare,
    defaults=DEFAULTS,
    option_help=MappingProxyType(
        {
            "initial": "Random plans tried first.",
            "rounds": "Rounds of optimisation after that.",
            "candidates": "Plans tried in each round.",
            "samples": "Samples from the two processes that estimate the expected improvement.",
            "calls": "Calls that measure a plan's latency and cost.",
            "percentile": "Percentile of the latency that must keep the SLO; by default the scenario's.",
        }
    ),
    look=Look("#e0559a", "longdash", "triangle-up"),
    by_length=True,
)
