"""The interface of a policy: from a queue of jobs to configurations, and its options.

A policy is *prepared* once for a system, which gives a planner; the controller then asks the planner
whenever a queue may be served. A planner keeps nothing between questions but what it computed from the
system, so that equal questions have equal answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from types import MappingProxyType
from typing import NamedTuple, Protocol, runtime_checkable

from nona import options as checks
from nona.errors import SimulationError
from nona.options import Option, Options, check_known
from nona.registry import Look
from nona.scenario.serverless import LATE
from nona.serverless.system import ServerlessSystem


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
Place = Callable[[Ask, Sequence[int], ClusterView], tuple[int, int] | None]


class Planner(Protocol):
    """A policy made ready for one system; ``place`` is ``None`` where the controller's own way is used."""

    place: Place | None

    def plan(self, ask: Ask) -> Plan:
        """Configurations for the queue, best first."""


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
        """Configurations for the next instance when ``rate`` jobs per second are to be served, best first."""

    def stops(self, fleet: Fleet) -> tuple[int, ...]:
        """Places in ``fleet.standing`` of the instances to stop, in the order of stopping."""


@runtime_checkable
class Scales(Protocol):
    """A planner whose batches run on instances that stand; with a ``scaler`` of ``None`` they do not."""

    scaler: Scaler | None


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


def known_options(policy: str, options: Options, defaults: Options) -> dict[str, Option]:
    """The defaults, overridden by the scenario's values.

    Raises
    ------
    SimulationError
        For an option that the policy does not have.

    Examples
    --------
    >>> known_options("fixed", {"batch": 4}, {"batch": 1, "vcpus": 1})
    {'batch': 4, 'vcpus': 1}
    >>> known_options("fixed", {"bach": 4}, {"batch": 1})
    Traceback (most recent call last):
    nona.errors.SimulationError: Policy 'fixed': option 'bach' is not known; choose from batch.
    """
    checks.check_known(_owner(policy), options, defaults)
    return {**defaults, **options}


def choice(policy: str, options: Options, name: str, allowed: Collection[str]) -> str:
    """The policy's option ``name`` as one of the ``allowed`` words.

    Raises
    ------
    SimulationError
        When it is something else.
    """
    value = options[name]
    if not isinstance(value, str) or value not in allowed:
        raise _refused(policy, name, value, f"one of {', '.join(allowed)}")
    return value


def switch(policy: str, options: Options, name: str, words: str) -> bool:
    """The policy's option ``name`` as true or false; ``words`` say which values there are.

    Raises
    ------
    SimulationError
        When it is something else.
    """
    value = options[name]
    if not isinstance(value, bool):
        raise _refused(policy, name, value, words)
    return value


def _refused(policy: str, name: str, value: Option, words: str) -> SimulationError:
    return SimulationError(f"{_owner(policy)}: option {name}={value!r} must be {words}; change it.")


def number(policy: str, options: Options, name: str, least: float = 0.0, most: float = inf) -> float:
    """The policy's option ``name`` as a finite number from ``least`` to ``most``, else an error."""
    return checks.number(_owner(policy), options, name, least, most)


def whole(policy: str, options: Options, name: str, least: int = 1, most: float = inf) -> int:
    """The policy's option ``name`` as a whole number from ``least`` to ``most``, else an error."""
    return checks.whole(_owner(policy), options, name, least, most)


def percentile(policy: str, options: Options, system: ServerlessSystem) -> float:
    """The option ``percentile``, from 1 to 99.99; the scenario's where it is ``None``.

    Raises
    ------
    SimulationError
        When it is something else.
    """
    if options["percentile"] is None:
        return system.profile_percentile
    return number(policy, options, "percentile", 1, 99.99)


def _owner(policy: str) -> str:
    return f"Policy {policy!r}"


DEFAULTS: Options = MappingProxyType({"late": None})
HELP = MappingProxyType(
    {"late": f"What becomes of late calls: {', '.join(LATE)}; none: as the scenario's dispatch says."}
)


def under_options(policy: str, system: ServerlessSystem, options: Options) -> ServerlessSystem:
    """The system as it is under the common options of a policy; itself where none is given.

    Raises
    ------
    SimulationError
        When a value is not one of those that there are.
    """
    if options.get("late") is None:
        return system
    late = choice(policy, options, "late", tuple(LATE))
    return replace(system, dispatch=system.dispatch.model_copy(update={"late": late}))


def with_common_options(policy: Policy) -> Policy:
    """The policy, which now takes the common options too."""
    defaults = {**policy.defaults, **DEFAULTS}
    return replace(
        policy,
        prepare=partial(_prepared, policy.name, policy.prepare, defaults),
        defaults=MappingProxyType(defaults),
        option_help=MappingProxyType({**policy.option_help, **HELP}),
    )


def _prepared(
    name: str, prepare: Prepare, defaults: Options, system: ServerlessSystem, options: Options
) -> Planner:
    """The planner of a policy under the common options; of the module, so that workers can have it."""
    check_known(f"Policy {name!r}", options, defaults)
    own = {key: value for key, value in options.items() if key not in DEFAULTS}
    return prepare(under_options(name, system, options), own)
