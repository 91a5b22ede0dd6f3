"""The policies of training clusters by name."""

from __future__ import annotations

from nona.allocation import allox, gandiva, hierarchical
from nona.allocation.auctions import STRATEGY_PROOF, THEMIS
from nona.allocation.cost import COST, COST_SLO
from nona.allocation.equal_shares import ISOLATED, PROPORTIONAL
from nona.allocation.finish_time import FINISH_TIME, FINISH_TIME_AGNOSTIC
from nona.allocation.in_order import FIFO, FIFO_AGNOSTIC, SJF
from nona.allocation.linear import MAKESPAN, MAX_MIN, MAX_MIN_AGNOSTIC, THROUGHPUT_SUM
from nona.allocation.problem import AllocationPolicy
from nona.core.errors import SimulationError
from nona.core.registry import Registry

_SHIPPED = (
    *(MAX_MIN, MAX_MIN_AGNOSTIC, FINISH_TIME, FINISH_TIME_AGNOSTIC, MAKESPAN, COST, COST_SLO, THROUGHPUT_SUM),
    hierarchical.POLICY,
    *(FIFO, FIFO_AGNOSTIC, SJF, allox.POLICY, gandiva.POLICY, ISOLATED, PROPORTIONAL),
    *(STRATEGY_PROOF, THEMIS),
)
POLICIES: Registry[AllocationPolicy] = Registry("Policy", _SHIPPED, SimulationError)


def policy_names() -> tuple[str, ...]:
    """All names, in order of registration.

    >>> "isolated" in policy_names()
    True
    """
    return tuple(POLICIES)


def get_policy(name: str) -> AllocationPolicy:
    """Return the allocation policy of that name.

    Parameters
    ----------
    name : str
        A name of :data:`POLICIES`.

    Returns
    -------
    AllocationPolicy
        The policy.

    Raises
    ------
    SimulationError
        If the name is unknown; the message lists the known ones.

    Examples
    --------
    >>> get_policy("isolated").title
    'Isolated'
    """
    return POLICIES.find(name)
