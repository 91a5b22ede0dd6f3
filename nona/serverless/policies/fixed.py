"""``fixed``: every stage at one configuration; the cost of not choosing.

A queue shorter than the batch is served with the largest batch that it fills, on the same vCPUs and vGPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.cluster.sharing.pool import BatchConfiguration
from nona.core.errors import SimulationError
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.serverless.policies.base import BatchPlan, ConfigurationPolicy, Place, WaitingQueue
from nona.serverless.sharing import holdable
from nona.serverless.system import ServerlessSystem


class FixedPlanner:
    """Answers with the given configuration, or with a smaller batch on the same resources."""

    place: Place | None = None

    def __init__(self, system: ServerlessSystem, configuration: BatchConfiguration) -> None:
        space = system.space
        if configuration not in space.number:
            raise SimulationError(
                f"Policy 'fixed': {configuration.text} is not among the configurations of the scenario; "
                "choose batch, vcpus and vgpus from serverless.configurations."
            )
        chosen, holds = space.number[configuration], holdable(system)
        for function in system.functions:
            cpu, gpu = function.seconds(space)
            if not (cpu[chosen] + gpu[chosen] < float("inf") and holds[chosen]):
                raise SimulationError(
                    f"Policy 'fixed': {configuration.text} cannot serve {function.name!r} (no time in its "
                    "table, or no invoker holds it); choose another one."
                )
        same = [
            (c.batch, n)
            for n, c in enumerate(space.configurations)
            if (c.vcpus, c.vgpus) == (configuration.vcpus, configuration.vgpus)
            and c.batch <= configuration.batch
        ]
        self._ladder = tuple(sorted(same, reverse=True))
        self._smallest = BatchPlan((space.smallest,))
        self._plans = {batch: BatchPlan((n,)) for batch, n in self._ladder}

    def plan(self, ask: WaitingQueue) -> BatchPlan:
        """Return the largest batch on the given resources that the queue fills."""
        for batch, _ in self._ladder:
            if batch <= ask.length:
                return self._plans[batch]
        return self._smallest


def _build(system: ServerlessSystem, options: Mapping[str, Any]) -> FixedPlanner:
    least = system.space[system.space.smallest]
    sizes = {"batch": least.batch, "vcpus": least.vcpus, "vgpus": least.vgpus}
    return FixedPlanner(
        system,
        BatchConfiguration(**{n: size if options[n] is None else options[n] for n, size in sizes.items()}),
    )


POLICY = ConfigurationPolicy(
    name="fixed",
    title="Fixed",
    summary="Runs every stage at one given configuration, by default the smallest.",
    source="a baseline of this program",
    adaptation="A queue shorter than the batch runs with the largest batch that it fills.",
    build=_build,
    settings={
        name: PolicyOption(None, f"{text}; by default the scenario's smallest.", least=1, kind=int)
        for name, text in (
            ("batch", "Jobs in a batch"),
            ("vcpus", "vCPUs of every batch"),
            ("vgpus", "vGPUs of every batch"),
        )
    },
    style=ChartStyle("#8390a6", "dash", "hexagon"),
    by_length=True,
)
