"""The policies of training clusters by name."""

from __future__ import annotations

from nona.allocation.policies.base import Policy
from nona.allocation.policies.linear import (
    cost,
    cost_slo,
    finish_time,
    finish_time_agnostic,
    makespan,
    max_min,
    max_min_agnostic,
    throughput_sum,
)
from nona.allocation.policies.ordered import allox, fifo, fifo_agnostic, sjf
from nona.allocation.policies.packing import gandiva
from nona.allocation.policies.shares import isolated, proportional, strategy_proof, themis_auction
from nona.allocation.policies.teams import hierarchical
from nona.errors import SimulationError
from nona.registry import Registry

_MODULES = (
    *(max_min, max_min_agnostic, finish_time, finish_time_agnostic, makespan, cost, cost_slo, throughput_sum),
    hierarchical,
    *(fifo, fifo_agnostic, sjf, allox, gandiva, isolated, proportional),
    *(strategy_proof, themis_auction),
)
POLICIES: Registry[Policy] = Registry("Policy", (m.POLICY for m in _MODULES), SimulationError)


def policy_names() -> tuple[str, ...]:
    """All names, in order of registration.

    >>> "isolated" in policy_names()
    True
    """
    return tuple(POLICIES)


def get_policy(name: str) -> Policy:
    """The policy called ``name``.

    Raises
    ------
    SimulationError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> get_policy("isolated").title
    'Isolated'
    """
    return POLICIES.find(name)
