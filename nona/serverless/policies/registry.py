"""The configuration policies by name."""

from __future__ import annotations

from nona.errors import SimulationError
from nona.serverless.policies import aquatope, esg, fast_gshare, fixed, infless, orion
from nona.serverless.policy import Policy

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
