"""Which invoker takes a batch: the rules of the scenario's ``dispatch``, one after the other."""

from __future__ import annotations

from collections.abc import Iterable

from nona.errors import SimulationError
from nona.gpu_sharing.pool import Lease
from nona.serverless.dispatch.containers import Containers
from nona.serverless.dispatch.memory import MemoryContainers
from nona.serverless.dispatch.order import Candidate, candidates, looks_for_slices, routes
from nona.serverless.engine.invokers import Invokers
from nona.serverless.engine.tables import Tables
from nona.serverless.policies.base import Ask, ClusterView, Place
from nona.serverless.records.run import Refusal

Found = tuple[int, Lease, str]
NO_MEMORY = "its containers that are in use leave no memory for one of this function"


class Choice:
    """Finds an invoker with room for one configuration; counts alone often say that there is none."""

    def __init__(self, tables: Tables, invokers: Invokers, containers: Containers) -> None:
        spec = tables.system.dispatch
        self._function = tables.function
        self._rules = [spec.first if entry else spec.later for entry in tables.entry]
        self._ask_all = [not {"walk", "most-free"}.isdisjoint(rules) for rules in self._rules]
        self._routes = routes(tables.system)
        self._invokers, self._containers = invokers, containers
        self._configurations = tables.configurations
        self._makes_slices = looks_for_slices(tables.system)
        self._memory = containers if isinstance(containers, MemoryContainers) else None

    def find(
        self, queue: int, configuration: int, predecessor: int, now_s: float, refusals: list[Refusal] | None
    ) -> Found | None:
        """(invoker, lease, rule), or ``None``; refusals are appended where a list is given."""
        invokers = self._invokers
        if refusals is None and invokers.hopeless(configuration):
            return None
        function = self._function[queue]
        asked = candidates(
            self._rules[queue],
            self._routes[function],
            predecessor,
            self._containers.warm(function),
            invokers.free_vcpus,
            invokers.free_vgpus,
        )
        short = False
        for invoker, rule in self._ready_first(asked, configuration) if self._makes_slices else asked:
            if self._memory is not None and not self._memory.has_room(invoker, function):
                short = True
                if refusals is not None:
                    refusals.append(Refusal(configuration, invoker, rule, NO_MEMORY))
                continue
            lease = invokers.take(invoker, configuration, now_s)
            if lease is not None:
                return invoker, lease, rule
            if refusals is not None:
                refusals.append(Refusal(configuration, invoker, rule, invokers.why(invoker, configuration)))
        if self._ask_all[queue] and not short:
            invokers.none_has_room(configuration)
        return None

    def placed(
        self, queue: int, place: Place, ask: Ask, ranked: tuple[int, ...], now_s: float
    ) -> tuple[int, Found] | None:
        """The configuration that a policy's own ``place`` puts somewhere, with what it was given there.

        Raises
        ------
        SimulationError
            When it chose an invoker without room.
        """
        view, invokers = self.view(queue), self._invokers
        chosen = place(ask, ranked, view) if ranked else None
        if chosen is None:
            return None
        configuration, invoker = ranked[chosen[0]], chosen[1]
        room = view is invokers or view.fits(invoker, configuration)
        lease = invokers.take(invoker, configuration, now_s) if room else None
        if lease is None:
            raise SimulationError(
                f"Policy: it placed {self._configurations[configuration].text} on invoker {invoker}, which "
                "has no room; its place must check the view's fits."
            )
        return configuration, (invoker, lease, "policy")

    def view(self, queue: int) -> ClusterView:
        """What a policy that places a batch of ``queue`` sees: where memory is limited, for its function."""
        if self._memory is None:
            return self._invokers
        return _WithMemory(self._invokers, self._memory, self._function[queue])

    def _ready_first(self, asked: Iterable[Candidate], configuration: int) -> list[Candidate]:
        """In the same order, but those that need not make a slice for it come first."""
        named = list(asked)
        ready = [one for one in named if self._invokers.ready(one[0], configuration)]
        return ready + [one for one in named if one not in ready]


class _WithMemory:
    """The invokers as a batch of one function sees them."""

    def __init__(self, invokers: Invokers, memory: MemoryContainers, function: int) -> None:
        self._invokers, self._memory, self._function = invokers, memory, function
        self.free_vcpus, self.free_vgpus = invokers.free_vcpus, invokers.free_vgpus

    def fits(self, invoker: int, configuration: int) -> bool:
        return self._memory.has_room(invoker, self._function) and self._invokers.fits(invoker, configuration)

    def ready(self, invoker: int, configuration: int) -> bool:
        return self._memory.has_room(invoker, self._function) and self._invokers.ready(invoker, configuration)
