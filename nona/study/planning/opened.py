"""The scenario on an option of a plan."""

from __future__ import annotations

from nona.results.plan import PlanOption
from nona.scenario.schema import Scenario, ServerGroupSpec
from nona.scenario.values import SchedulerSpec


def opened(scenario: Scenario, option: PlanOption) -> Scenario:
    """The scenario with the option's servers and link, and its scheduler before the scenario's others.

    The traffic stays as it is, also where the plan is sized for the peak of a week.
    """
    groups = tuple(
        ServerGroupSpec(count=s.count, gpu=s.gpu, gpus=s.gpus, vcpus=s.vcpus, mig=s.mig, mps=s.mps)
        for s in option.servers
    )
    network = scenario.cluster.network.model_copy(update={"capacity": option.link})
    asked = scenario.plan.schedulers if scenario.plan else ()
    own = next((s for s in asked if s.name == option.scheduler), SchedulerSpec(name=option.scheduler))
    others = tuple(s for s in scenario.schedulers if s.name != option.scheduler)
    return scenario.model_copy(
        update={
            "cluster": scenario.cluster.model_copy(update={"servers": groups, "network": network}),
            "schedulers": (own, *others),
        }
    )
