"""What the two learned schedulers share: they differ in their weights and in what they see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nona.placement.result.placement import Placement
from nona.schedulers.base import Prepared
from nona.schedulers.learned.card import Trained, shipped
from nona.schedulers.learned.network import network_of
from nona.schedulers.learned.ranges import outside
from nona.schedulers.learned.tables import learned_tables
from nona.schedulers.options import check_options
from nona.system import System

SOURCE = (
    "Mao, Schwarzkopf, Venkatakrishnan, Meng and Alizadeh: Learning Scheduling Algorithms for Data "
    "Processing Clusters (Decima), SIGCOMM 2019, section 5; features and sizes after its public code"
)
ADAPTATION = (
    "Decima-style, our own: no figure of the paper is claimed. A task is one node with one instance; the "
    "action is a pair of ready task and executor, so that weights do not depend on how many there are; a "
    "busy executor of the last predecessor may be waited for. Graph network over the tasks, features of the "
    "pair, and four of the state in place of the summary over jobs. Trained by nona train-decima with runs "
    "of equal arrivals as baselines, on drawn graphs and clusters; it takes the pair of highest score. "
)


@dataclass(frozen=True, slots=True)
class LearnedPolicy:
    """Prepares the scheduler ``name`` with the weights of ``own``, or those that come with the program.

    With weights of your own: ``replace(get_scheduler("decima-link"), name="mine",
    prepare=LearnedPolicy("mine", read_weights(path)))``, then ``SCHEDULERS.register`` it.
    """

    name: str
    own: Trained | None = None

    @property
    def trained(self) -> Trained:
        """The weights and their card."""
        return shipped(self.name) if self.own is None else self.own

    def __call__(self, system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
        check_options(self.name, options)
        of = self.trained
        return Prepared(learned_tables(system, network_of(of.weights, of.card.pair)), 1)


@dataclass(frozen=True, slots=True)
class Cautions:
    """One line where a system lies outside what the weights of ``policy`` were trained on."""

    policy: LearnedPolicy

    def __call__(self, system: System) -> tuple[str, ...]:
        found = outside(self.policy.trained.card.ranges, system)
        if not found:
            return ()
        return (
            f"{self.policy.name} was not trained on such a system: {', '.join(found)}. It may decide badly; "
            "train it on your ranges with nona train-decima",
        )
