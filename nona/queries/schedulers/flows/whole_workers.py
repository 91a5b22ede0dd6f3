"""``optimus`` and ``pollux``: whole executors, one by one, by the query classes' gains or speed-ups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.allocation.whole_workers import fairest_goodputs, marginal_gains
from nona.core.registry import ChartStyle
from nona.queries.schedulers.base import NetworkView
from nona.queries.schedulers.flows.allotter import (
    ExecutorClaims,
    FlowPolicy,
    RoundQuestion,
    flow_scheduler,
    single_claims,
)


def optimus_claims(question: RoundQuestion, memory: Any) -> tuple[ExecutorClaims, Any]:
    """Marginal gains for the flows with work."""
    executors, active = 0.0 * question.cluster.rates, question.active
    executors[active] = marginal_gains(
        question.remaining[active], question.knowledge.rates[active], question.cluster.counts
    )
    return single_claims(executors), None


def pollux_claims(question: RoundQuestion, memory: Any) -> tuple[ExecutorClaims, Any]:
    """Return the fairest goodputs of the flows with work; a flow's goodput ends where its need does."""
    executors, active = 0.0 * question.cluster.rates, question.active
    executors[active] = fairest_goodputs(
        question.needs[active], question.knowledge.rates[active], question.cluster.counts
    )
    return single_claims(executors), None


def _optimus(options: Mapping[str, Any]) -> FlowPolicy:
    return optimus_claims


def _pollux(options: Mapping[str, Any]) -> FlowPolicy:
    return pollux_claims


OPTIMUS = flow_scheduler(
    _optimus,
    name="optimus",
    network_view=NetworkView.N2,
    summary="Hands out executors one by one, each to the query class whose remaining time it shortens most.",
    source=(
        "Peng, Bao, Chen, Wu and Guo: Optimus: An Efficient Dynamic Resource Scheduler for Deep Learning "
        "Clusters, EuroSys 2018, section 4 (recollected). Each class first gets one executor, as in the "
        "public simulator of Pollux"
    ),
    adaptation=(
        "The rate of r executors is the sum of their measured queries/s. A query runs on one executor, so "
        "there is no time of its own transfers to fit. Gains are compared for each class of executors."
    ),
    look=ChartStyle("#6a7f1f", "solid", "diamond-x"),
)

POLLUX = flow_scheduler(
    _pollux,
    name="pollux",
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
        "restarts."
    ),
    look=ChartStyle("#7d55c7", "dash", "hourglass"),
)
