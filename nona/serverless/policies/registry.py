"""The configuration policies by name."""

from __future__ import annotations

from nona.errors import SimulationError
from nona.serverless.policies import fixed
from nona.serverless.policies.aquatope import policy as aquatope
from nona.serverless.policies.base import Policy
from nona.serverless.policies.esg import policy as esg
from nona.serverless.policies.gshare import policy as fast_gshare
from nona.serverless.policies.infless import policy as infless
from nona.serverless.policies.orion import policy as orion

_MODULES = (esg, infless, fast_gshare, orion, aquatope, fixed)
_registry: dict[str, Policy] = {m.POLICY.name: m.POLICY for m in _MODULES}


def policy_names() -> tuple[str, ...]:
    """All names, in order of registration.

    >>> "fixed" in policy_names()
    True
    """
    return tuple(_registry)


def get_policy(name: str) -> Policy:
    """The policy called ``name``.

    Raises
    ------
    SimulationError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> get_policy("fixed").title
    'Fixed'
    """
    if name not in _registry:
        raise SimulationError(f"Policy {name!r} is not known; choose from {', '.join(_registry)}.")
    return _registry[name]


def register(policy: Policy) -> Policy:
    """Add a policy, for this process, under its own name; return it.

    Raises
    ------
    SimulationError
        When the name is taken.
    """
    if policy.name in _registry:
        raise SimulationError(f"Policy {policy.name!r}: the name is taken; give the new policy another one.")
    _registry[policy.name] = policy
    return policy
