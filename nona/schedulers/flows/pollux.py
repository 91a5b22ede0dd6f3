"""``pollux``: the harmonic mean of the query classes' speed-ups is as large as possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nona.allocation.whole_workers import fairest_goodputs
from nona.placement.result import Placement
from nona.registry import Look
from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.schedulers.flows.allotter import ROUND, SHARED, Claims, Question, prepared_flows, single_claims
from nona.schedulers.least_loaded import decide
from nona.system import System


@dataclass(frozen=True, slots=True)
class AskPollux:
    """The fairest goodputs of the flows with work; a flow's goodput ends where its need does."""

    def __call__(self, question: Question, memory: Any) -> tuple[Claims, Any]:
        executors, active = 0.0 * question.of.rates, question.active
        executors[active] = fairest_goodputs(
            question.needs[active], question.known.rates[active], question.of.counts
        )
        return single_claims(executors), None


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    return prepared_flows(system, options["round_s"], AskPollux())


SCHEDULER = Scheduler(
    name="pollux",
    kind="allocate",
    family="allocation",
    network_view=NetworkView.N2,
    summary="Divides the executors so that the query classes' speed-ups over equal parts are large and fair.",
    source=(
        "Qiao, Choe, Subramanya, Neiswanger, Ho, Zhang, Ganger and Xing: Pollux: Co-adaptive Cluster "
        "Scheduling for Goodput-Optimized Deep Learning, OSDI 2021, section 4.2; public code"
    ),
    adaptation=(
        "Inference has no statistical efficiency: goodput is throughput, up to what a class's "
        "work needs. The genetic search is replaced by handing out one by one, exact for one "
        "class of executors. As a query runs on one executor, none is distributed, and none "
        "restarts." + SHARED
    ),
    decide=decide,
    build=_build,
    settings={"round_s": ROUND},
    reads_queues=True,
    takes_lists=True,
    look=Look("#7d55c7", "dash", "hourglass"),
)
