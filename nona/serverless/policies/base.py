"""The interface of a policy: from a queue of jobs to configurations, and its options.

A policy is *prepared* once for a system, which gives a planner; the controller then asks the planner
whenever a queue may be served. A planner keeps nothing between questions but what it computed from the
system, so that equal questions have equal answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

from nona.core.options import Options, PolicyOption
from nona.core.registry import Strategy
from nona.scenario.serverless import LATE
from nona.serverless.system import ServerlessSystem


class WaitingQueue(NamedTuple):
    """A queue that may be served now.

    ``application``, ``stage``: which AFW queue.
    ``length``: jobs in it, at least 1.
    ``slack_s``: SLO of the application less the age of the oldest call in the queue; negative when it is
        late.
    ``waited_s``: how long the oldest job has been in this queue.
    ``carried``: the configurations, by number and one per stage, that were planned when the oldest call was
        first scheduled; ``None`` before that or if the policy plans every stage by itself.
    ``rate``: jobs per second that have come to this queue lately.
    """

    application: int
    stage: int
    length: int
    slack_s: float
    waited_s: float = 0.0
    carried: tuple[int, ...] | None = None
    rate: float = 0.0


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """An answer.

    ``ranked``: numbers of configurations for this batch, best first; empty: serve nothing now.
    ``search_s``: modelled seconds that the search took; the jobs wait for it.
    ``steps``: what the search counted (paths, neighbours, candidates).
    ``carry``: configurations, one per stage, that later stages of these calls shall find in ``Ask.carried``.
    ``missed``: whether what was carried could not be used (the queue is shorter than its batch).
    ``wait_s``: with an empty ``ranked``: look again after this long, or when the queue has ``wait_for`` jobs.
    """

    ranked: tuple[int, ...]
    search_s: float = 0.0
    steps: int = 0
    memory: tuple[int, ...] | None = None
    missed: bool = False
    wait_s: float = 0.0
    wait_for: int = 0


class ClusterView(Protocol):
    """The N invokers as a placement sees them."""

    @property
    def free_vcpus(self) -> Sequence[int]:
        """(N,) vCPUs that are free."""

    @property
    def free_vgpus(self) -> Sequence[int]:
        """(N,) vGPUs that are free, all GPUs of the invoker together."""

    def fits(self, invoker: int, configuration: int) -> bool:
        """Return whether the invoker has room for the configuration now."""

    def ready(self, invoker: int, configuration: int) -> bool:
        """Return whether the invoker has room now, and need not make a MIG slice for it."""


#: ``place(ask, ranked, view)`` → (place in ``ranked``, invoker), or ``None`` when nothing fits.
Place = Callable[[WaitingQueue, Sequence[int], ClusterView], tuple[int, int] | None]


class PreparedPolicy(Protocol):
    """A policy made ready for one system; ``place`` is ``None`` where the controller's own way is used."""

    place: Place | None

    def plan(self, ask: WaitingQueue) -> BatchPlan:
        """Return configurations for the queue, best first."""


class Service(NamedTuple):
    """Service of one standing instance for its queue.

    ``least`` and ``most``: the jobs per second between which it is used well; ``timeout_s``: how long the
    first job of a batch waits until the batch is full.
    """

    least: float
    most: float
    timeout_s: float


class Fleet(NamedTuple):
    """The instances that stand for an AFW queue, as a scaler sees them.

    ``rate``: jobs per second that have come lately; ``standing``: the configurations, by number, of the
    instances that are not being stopped, in the order in which they were started.
    """

    application: int
    stage: int
    rate: float
    standing: tuple[int, ...]


class Scaler(Protocol):
    """Decides the number of instances for each AFW queue, and keeps nothing between questions.

    ``every_s``: seconds between its looks at all queues; ``window_s``: over which rates are measured.
    """

    every_s: float
    window_s: float

    def service(self, application: int, stage: int, configuration: int) -> Service:
        """Return the service of an instance of the configuration for the queue."""

    def excess(self, fleet: Fleet) -> float:
        """Jobs per second for which instances are to be started; not above 0: start none."""

    def ranked(self, application: int, stage: int, rate: float) -> tuple[int, ...]:
        """List configurations for the next instance, best first, to serve ``rate`` jobs per second."""

    def stops(self, fleet: Fleet) -> tuple[int, ...]:
        """Places in ``fleet.standing`` of the instances to stop, in the order of stopping."""


@runtime_checkable
class Scales(Protocol):
    """A planner whose batches run on instances that stand; with a ``scaler`` of ``None`` they do not."""

    scaler: Scaler | None


_LATE = PolicyOption(
    None,
    f"What becomes of late calls: {', '.join(LATE)}; none: as the scenario's dispatch says.",
    words=tuple(LATE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationPolicy(Strategy):
    """A policy's declaration.

    ``build(system, options)`` makes the planner under checked options. ``by_length``: whether its planners
    answer alike where questions agree in the queue, in ``carried``, and in ``length`` up to the largest
    batch; such answers may be remembered. Every policy has the option ``late``.
    """

    build: Callable[[ServerlessSystem, Mapping[str, Any]], PreparedPolicy]
    by_length: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", {**self.settings, "late": _LATE})

    def under(self, system: ServerlessSystem, options: Options) -> ServerlessSystem:
        """Return the system as it is under the common option; itself where that is not given."""
        if options.get("late") is None:
            return system
        return replace(system, dispatch=system.dispatch.model_copy(update={"late": options["late"]}))

    def prepare(self, system: ServerlessSystem, options: Options) -> PreparedPolicy:
        """Return the planner; raises :class:`~nona.core.errors.SimulationError` for a wrong option."""
        chosen = self.chosen(options)
        return self.build(self.under(system, chosen), chosen)


def percentile_setting() -> PolicyOption:
    """Return the percentile of latencies at which a policy plans."""
    text = "Percentile of the latency that must keep the SLO; by default the scenario's."
    return PolicyOption(None, text, least=1, most=99.99, kind=float)


def standing_settings(scale_s: float) -> dict[str, PolicyOption]:
    """Instances that stand, with seconds between two looks at their number."""
    return {
        "standing": PolicyOption(
            False, "Whether instances stand, started and stopped by load, instead of a lease per batch."
        ),
        "scale_s": PolicyOption(
            scale_s, "With standing: seconds between two looks at the number of instances.", least=_SHORTEST_S
        ),
        "window_s": PolicyOption(
            10.0, "With standing: seconds over which the rate of a queue is measured.", least=_SHORTEST_S
        ),
    }


_SHORTEST_S = 1e-3  # between two looks at the instances
SEARCH_S = PolicyOption(0.0, "Seconds charged for a decision; standing instances need none.")
