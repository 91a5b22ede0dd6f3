"""Plans that are made once and carried along: what a stage runs when it finds its plan, or cannot use it."""

from __future__ import annotations

from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Ask, Plan
from nona.serverless.policies.choices import usable

#: Configurations in an answer: the planned one and those nearest to it; as many as ESG's queue has.
RANKED = 5


class CarriedPlans:
    """Answers for policies that plan all stages of an application at its first one.

    A stage's answer is the planned configuration, then those nearest to it. Where the queue does not
    fill the planned batch, that is a configuration miss, and the answer begins with the nearest one that
    the queue fills: on the same vCPUs and vGPUs the largest batch; then by steps on the grid of sizes,
    the fewer vGPUs and vCPUs first among equals. With the scenario's ``partial`` a batch need not be full.
    """

    def __init__(self, system: ServerlessSystem) -> None:
        self._system = system
        self._partial = system.dispatch.partial
        self._functions = [app.function for app in system.applications]
        self._batch = [c.batch for c in system.space.configurations]
        self._most = max(self._batch)
        self._usable = [usable(system, f) for f in range(len(system.functions))]
        self._known: dict[tuple[int, int, int], tuple[int, ...]] = {}
        self._place = _places(system)

    def answer(self, ask: Ask, plan: tuple[int, ...], search_s: float = 0.0, steps: int = 0) -> Plan:
        """What to do at the asked stage under ``plan``; the search is charged only where there was none."""
        chosen = plan[ask.stage]
        limit = self._most if self._partial else min(ask.length, self._most)
        ranked = self._ranked(self._functions[ask.application][ask.stage], chosen, limit)
        if ask.carried is None:
            return Plan(ranked, search_s, steps, carry=plan)
        return Plan(ranked, carry=plan, missed=limit < self._batch[chosen])

    def _ranked(self, function: int, chosen: int, limit: int) -> tuple[int, ...]:
        key = (function, chosen, limit)
        found = self._known.get(key)
        if found is None:
            legal = [n for n in self._usable[function] if self._batch[n] <= limit]
            if not legal:  # the smallest batch of all is larger than the queue: nothing else can be named
                legal = [self._system.space.smallest]
            found = tuple(sorted(legal, key=lambda n: self._farness(chosen, n))[:RANKED])
            self._known[key] = found
        return found

    def _farness(self, chosen: int, other: int) -> tuple[int, ...]:
        space, place = self._system.space, self._place
        a, b = space[chosen], space[other]
        steps = sum(abs(x - y) for x, y in zip(place[chosen], place[other], strict=True))
        same = (a.vcpus, a.vgpus) == (b.vcpus, b.vgpus) and b.batch <= a.batch
        return (0 if same else 1, steps, b.vgpus, b.vcpus, -b.batch)


def _places(system: ServerlessSystem) -> list[tuple[int, int, int]]:
    """Where each configuration stands on the grid: the ranks of its three sizes."""
    space = system.space
    sizes = [sorted({int(x) for x in column}) for column in (space.batch, space.vcpus, space.vgpus)]
    rank = [{x: i for i, x in enumerate(column)} for column in sizes]
    return [(rank[0][c.batch], rank[1][c.vcpus], rank[2][c.vgpus]) for c in space.configurations]
