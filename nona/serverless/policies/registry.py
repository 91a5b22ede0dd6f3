"""The configuration policies by name."""

from __future__ import annotations

from nona.errors import SimulationError
from nona.registry import Registry
from nona.serverless.policies import aquatope, fixed, gshare, infless, orion
from nona.serverless.policies.base import Policy
from nona.serverless.policies.esg import policy as esg

_MODULES = (esg, infless, gshare, orion, aquatope, fixed)
POLICIES: Registry[Policy] = Registry("Policy", (m.POLICY for m in _MODULES), SimulationError)


def policy_names() -> tuple[str, ...]:
    """All names, in order of registration.

    >>> "fixed" in policy_names()
    True
    """
    return tuple(POLICIES)


def get_policy(name: str) -> Policy:
    """The policy called ``name``.

    Raises ``SimulationError`` for an unknown name; the message lists the known ones.

    >>> get_policy("fixed").title
    'Fixed'
    """
    return POLICIES.find(name)
