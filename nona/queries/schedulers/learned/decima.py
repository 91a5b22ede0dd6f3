"""``decima-blind`` and ``decima-link``: they differ in weights and in what they see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nona.core.registry import ChartStyle
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables
from nona.queries.schedulers.learned.card import TrainedPolicy, out_of_range, shipped
from nona.queries.schedulers.learned.choose import decide, learned_tables
from nona.queries.schedulers.learned.network import network_of
from nona.queries.system import System

SOURCE = (
    "Mao, Schwarzkopf, Venkatakrishnan, Meng and Alizadeh: Learning Scheduling Algorithms for Data "
    "Processing Clusters (Decima), SIGCOMM 2019, section 5; features and sizes after its public code"
)
ADAPTATION = (
    "Decima-style, our own: no figure of the paper is claimed. A task is one node and runs once. An action "
    "is a pair of ready task and executor, so the weights fit any number of tasks and executors. A task may "
    "wait for the busy executor of its last predecessor. Inputs are a graph network over the tasks, "
    "features of the pair, and four features of the state in place of the summary over jobs. Trained by "
    "nona train-decima on drawn graphs and clusters, with runs of equal arrivals as baselines. It takes the "
    "pair of highest score. "
)


@dataclass(frozen=True, slots=True)
class LearnedPolicy:
    """Prepares the scheduler ``name`` with the weights of ``own``, or those that come with the program.

    With weights of your own: ``replace(get_scheduler("decima-link"), name="mine",
    build=LearnedPolicy("mine", read_weights(path)))``, then ``SCHEDULERS.register`` it.
    """

    name: str
    own: TrainedPolicy | None = None

    @property
    def trained(self) -> TrainedPolicy:
        """The weights and their card."""
        return shipped(self.name) if self.own is None else self.own

    def __call__(
        self, system: System, placement: Placement | None, options: Mapping[str, Any]
    ) -> SchedulerTables:
        """Return the tables of the trained network for a system."""
        of = self.trained
        return SchedulerTables(learned_tables(system, network_of(of.weights, of.card.pair)), 1)


@dataclass(frozen=True, slots=True)
class RangeWarnings:
    """One line where a system lies outside what the weights of ``policy`` were trained on."""

    policy: LearnedPolicy

    def __call__(self, system: System) -> tuple[str, ...]:
        """Return a note where the system lies outside the ranges of training."""
        beyond = out_of_range(self.policy.trained.card.ranges, system)
        if not beyond:
            return ()
        return (
            f"{self.policy.name} was not trained on such a system: {', '.join(beyond)}. It may decide badly; "
            "train it on your ranges with nona train-decima",
        )


BLIND_POLICY = LearnedPolicy("decima-blind")

DECIMA_BLIND = Scheduler(
    name="decima-blind",
    kind="pick",
    network_view=NetworkView.N1,
    summary="A learned policy for ready tasks and executors, with the link's load hidden.",
    family="learned",
    source=SOURCE,
    adaptation=ADAPTATION
    + "It knows what a transfer takes alone, which Decima does not, and nothing of the load of the link.",
    decide=decide,
    build=BLIND_POLICY,
    reads_queues=True,
    cautions=RangeWarnings(BLIND_POLICY),
    style=ChartStyle("#b58900", "dashdot", "hexagram"),
)

LINK_POLICY = LearnedPolicy("decima-link")

DECIMA_LINK = Scheduler(
    name="decima-link",
    kind="pick",
    network_view=NetworkView.N4,
    summary="A learned policy for ready tasks and executors, with the link's queue in sight.",
    family="learned",
    source=SOURCE,
    adaptation=ADAPTATION
    + "Ours: Decima sees no network at all; this one also sees the queue of the live link.",
    decide=decide,
    build=LINK_POLICY,
    reads_queues=True,
    cautions=RangeWarnings(LINK_POLICY),
    style=ChartStyle("#8a4fb8", "solid", "star-square"),
)
