"""A round of a scheduler of flows: learn, ask, cut to what is needed, hold, share the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from nona.options import number
from nona.schedulers.base import Allotment, Prepared, Round
from nona.schedulers.flows.claims import Claims, within_needs
from nona.schedulers.flows.cluster import FlowCluster, Known, cluster_of, learned
from nona.schedulers.flows.holdings import Holdings, hold, owned, sets_of
from nona.schedulers.flows.question import Question
from nona.schedulers.queues.least_loaded import executor_works
from nona.system import System

ROUND: Mapping[str, float] = {"round_s": 1.0}
LEAST_ROUND_S = 1e-3
#: What is the same in all adaptations, for people.
SHARED = (
    " A flow is one query class; a query goes whole to the least loaded executor of its flow's set, and "
    "running work stays. Steps left are queries waiting and expected in a round (option round_s, 1 s by "
    "default); rates start as modelled and are half measured every round. Claims are cut to what that "
    "work needs and made whole by deficit; what is left, every flow may use."
)


class Ask(Protocol):
    """A policy of flows. It keeps nothing: what it wants to remember it gives back."""

    def __call__(self, question: Question, memory: Any) -> tuple[Claims, Any]:
        """Claims for the next round, and the next memory; the first is ``None``."""


class Memory(NamedTuple):
    """What a round hands to the next."""

    known: Known
    held: Holdings
    policy: Any


@dataclass(frozen=True, eq=False, slots=True)
class Allotter:
    """An :data:`~nona.schedulers.base.Allocate` by the policy ``ask``."""

    of: FlowCluster
    ask: Ask

    def __call__(self, seen: Round, memory: Memory | None) -> Allotment:
        known = learned(self.of, memory.known if memory else None, seen)
        before = memory.held if memory else None
        question = Question(self.of, known, seen, owned(self.of, before))
        claims, policy = self.ask(question, memory.policy if memory else None)
        held = hold(self.of, within_needs(question, claims), before)
        return Allotment(sets_of(self.of, held), Memory(known, held, policy))


def prepared_flows(system: System, name: str, options: Mapping[str, Any], ask: Ask) -> Prepared:
    """Tables and rounds of the scheduler ``name``; its other options must have been checked.

    Raises
    ------
    PlacementError
        When a model fits no executor.
    SimulationError
        When ``round_s`` is not a number of at least 0.001.
    """
    round_s = number(f"Scheduler {name!r}", {**ROUND, **options}, "round_s", least=LEAST_ROUND_S)
    return Prepared(executor_works(system), 1, round_s=round_s, allocate=Allotter(cluster_of(system), ask))
