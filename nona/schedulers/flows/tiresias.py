"""``tiresias``: query classes fall through queues by attained service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nona.allocation.tiresias import Standing, in_order, joined, moved, take_in_order
from nona.errors import SimulationError
from nona.options import Setting
from nona.placement.result import Placement
from nona.registry import Look
from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.schedulers.flows.allotter import ROUND, SHARED, Claims, Question, prepared_flows, single_claims
from nona.schedulers.least_loaded import decide
from nona.system import System


@dataclass(frozen=True, slots=True)
class AskTiresias:
    """Discretised 2D-LAS with two ``limits`` in executor-seconds and the knob ``promote``."""

    limits: tuple[float, float]
    promote: float

    def __call__(self, question: Question, memory: Standing | None) -> tuple[Claims, Any]:
        standing = moved(
            memory or joined(len(question.of.rates)),
            question.seen.service_s.sum(axis=1),
            question.owned > 0,
            question.seen.length_s,
            np.array(self.limits),
            self.promote,
        )
        taken = take_in_order(in_order(standing), question.needs, question.known.rates, question.of.counts)
        return single_claims(taken), standing


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    first, second = options["limit_1_s"], options["limit_2_s"]
    if second < first:
        raise SimulationError(
            f"Scheduler 'tiresias': option limit_2_s={second!r} must be at least limit_1_s, {first!r}; "
            "change it."
        )
    return prepared_flows(system, options["round_s"], AskTiresias((first, second), options["promote"]))


SCHEDULER = Scheduler(
    name="tiresias",
    kind="allocate",
    family="allocation",
    network_view=NetworkView.N0,
    summary="Serves the query classes that have had the least service first: three queues, two limits.",
    source=(
        "Gu, Chowdhury, Shin, Zhu, Jeon, Qian, Liu and Guo: Tiresias: A GPU Cluster Manager for "
        "Distributed Deep Learning, NSDI 2019, section 3; queues and limits of its public simulator"
    ),
    adaptation=(
        "Attained service is executor-seconds of a class's queries. In the queues' order each "
        "class takes what its work needs, its fastest executors first, and less where less is "
        "left; the simulator would let it wait." + SHARED
    ),
    decide=decide,
    build=_build,
    settings={
        "limit_1_s": Setting(3250.0, "executor-seconds at which a flow falls to the second queue"),
        "limit_2_s": Setting(7200.0, "executor-seconds at which it falls to the third"),
        "promote": Setting(0.0, "a flow returns after waiting this many times what it had; 0: never"),
        "round_s": ROUND,
    },
    reads_queues=True,
    takes_lists=True,
    look=Look("#b0305f", "solid", "diamond-cross"),
)
