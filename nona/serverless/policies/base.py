"""What a configuration policy is: from a queue of jobs to configurations, best first.

A policy is *prepared* once for a system, which gives a planner; the controller then asks the planner
whenever a queue may be served. A planner keeps nothing between questions but what it computed from the
system, so that equal questions have equal answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from nona.look import Look
from nona.options import Options
from nona.serverless.model.system import ServerlessSystem


class Ask(NamedTuple):
    """A queue that may be served now.

    Attributes
    ----------
    application, stage
        Which AFW queue.
    length
        Jobs in it, at least 1.
    slack_s
        SLO of the application less the age of the oldest call in the queue; negative when it is late.
    waited_s
        How long the oldest job has been in this queue.
    carried
        The configurations, by number and one per stage, that were planned when the oldest call was first
        scheduled; ``None`` before that or if the policy plans every stage by itself.
    rate
        Jobs per second that have come to this queue lately.
    """

    application: int
    stage: int
    length: int
    slack_s: float
    waited_s: float = 0.0
    carried: tuple[int, ...] | None = None
    rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """An answer.

    Attributes
    ----------
    ranked
        Numbers of configurations for this batch, best first; empty: serve nothing now.
    search_s
        Modelled seconds that the search took; the jobs wait for it.
    steps
        What the search counted (paths, neighbours, candidates).
    carry
        Configurations, one per stage, that later stages of these calls shall find in ``Ask.carried``.
    missed
        Whether what was carried could not be used (the queue is shorter than its batch).
    wait_s
        With an empty ``ranked``: look again after this long, or when the queue has ``wait_for`` jobs.
    """

    ranked: tuple[int, ...]
    search_s: float = 0.0
    steps: int = 0
    carry: tuple[int, ...] | None = None
    missed: bool = False
    wait_s: float = 0.0
    wait_for: int = 0


class ClusterView(Protocol):
    """What a placement sees: N invokers."""

    @property
    def free_vcpus(self) -> Sequence[int]:
        """(N,) vCPUs that are free."""

    @property
    def free_vgpus(self) -> Sequence[int]:
        """(N,) vGPUs that are free, all GPUs of the invoker together."""

    def fits(self, invoker: int, configuration: int) -> bool:
        """Whether the invoker has room for it now."""

    def ready(self, invoker: int, configuration: int) -> bool:
        """Whether it has room now, and need not make a MIG slice for it."""


#: ``place(ask, ranked, view)`` → (place in ``ranked``, invoker), or ``None`` when nothing fits.
Place = Callable[[Ask, Sequence[int], ClusterView], tuple[int, int] | None]


class Planner(Protocol):
    """A policy made ready for one system; ``place`` is ``None`` where the controller's own way is used."""

    place: Place | None

    def plan(self, ask: Ask) -> Plan:
        """Configurations for the queue, best first."""


Prepare = Callable[[ServerlessSystem, Options], Planner]


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy's declaration.

    ``summary``, ``source``, ``adaptation``: what it does, where it is from, what was changed or assumed.
    ``defaults`` are the options with their values; ``prepare(system, options)`` refuses others.
    ``look`` is how it looks on charts; without one it gets a spare look. ``by_length``: whether its planners
    answer alike where questions agree in the queue, in ``carried``, and in ``length`` up to the largest
    batch; such answers may be remembered.
    """

    name: str
    title: str
    summary: str
    source: str
    adaptation: str
    prepare: Prepare
    defaults: Options
    option_help: Mapping[str, str]
    look: Look | None = None
    by_length: bool = False
