"""``tiresias``: query classes fall through queues by attained service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nona.allocation.tiresias import Standing, in_order, joined, moved, take_in_order
from nona.options import number
from nona.placement.result import Placement
from nona.registry import Look
from nona.schedulers.base import NetworkView, Prepared, Scheduler, check_options
from nona.schedulers.flows.allotter import SHARED, Claims, Question, prepared_flows, single_claims
from nona.schedulers.least_loaded import decide
from nona.system import System

OPTIONS = {"limit_1_s": 3250.0, "limit_2_s": 7200.0, "promote": 0.0}


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


def prepare(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    """Options: ``limit_1_s`` and ``limit_2_s``, executor-seconds at which a flow falls, 3250 and 7200 by
    default; ``promote``, 0 by default: never; and ``round_s``, 1 by default."""
    owner, given = "Scheduler 'tiresias'", {**OPTIONS, **options}
    check_options("tiresias", options, known=(*OPTIONS, "round_s"))
    first = number(owner, given, "limit_1_s")
    second = number(owner, given, "limit_2_s", least=first)
    ask = AskTiresias((first, second), number(owner, given, "promote"))
    return prepared_flows(system, "tiresias", options, ask)


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
    prepare=prepare,
    reads_queues=True,
    takes_lists=True,
    look=Look("#b0305f", "solid", "diamond-cross"),
)
