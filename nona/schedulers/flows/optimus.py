"""``optimus``: every executor goes to the query class whose work it shortens most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nona.allocation.whole_workers import marginal_gains
from nona.placement.result import Placement
from nona.registry import Look
from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.schedulers.flows.allotter import ROUND, SHARED, Claims, Question, prepared_flows, single_claims
from nona.schedulers.least_loaded import decide
from nona.system import System


@dataclass(frozen=True, slots=True)
class AskOptimus:
    """Marginal gains for the flows with work."""

    def __call__(self, question: Question, memory: Any) -> tuple[Claims, Any]:
        executors, active = 0.0 * question.of.rates, question.active
        executors[active] = marginal_gains(
            question.remaining[active], question.known.rates[active], question.of.counts
        )
        return single_claims(executors), None


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    return prepared_flows(system, options["round_s"], AskOptimus())


SCHEDULER = Scheduler(
    name="optimus",
    kind="allocate",
    family="allocation",
    network_view=NetworkView.N2,
    summary="Hands out executors one by one, each to the query class whose remaining time it shortens most.",
    source=(
        "Peng, Bao, Chen, Wu and Guo: Optimus: An Efficient Dynamic Resource Scheduler for Deep Learning "
        "Clusters, EuroSys 2018, section 4 (recollected); one each first as in the public simulator of "
        "Pollux"
    ),
    adaptation=(
        "Queries/s of r executors are the sum of their measured rates; as a query runs on one "
        "executor there is no time of its own transfers to fit. A gain is looked at for each "
        "class of executors." + SHARED
    ),
    decide=decide,
    build=_build,
    settings={"round_s": ROUND},
    reads_queues=True,
    takes_lists=True,
    look=Look("#6a7f1f", "solid", "diamond-x"),
)
