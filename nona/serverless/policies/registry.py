"""The configuration policies by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nona.core.errors import SimulationError, suggestion
from nona.core.registry import Registry
from nona.scenario.gate import mapping
from nona.scenario.unknown import unknown_strategies
from nona.serverless.functions import network_names
from nona.serverless.policies import aquatope, fixed, gshare, infless, orion
from nona.serverless.policies.base import ConfigurationPolicy
from nona.serverless.policies.esg import policy as esg

_MODULES = (esg, infless, gshare, orion, aquatope, fixed)
POLICIES: Registry[ConfigurationPolicy] = Registry("Policy", (m.POLICY for m in _MODULES), SimulationError)


def policy_names() -> tuple[str, ...]:
    """All names, in order of registration.

    >>> "fixed" in policy_names()
    True
    """
    return tuple(POLICIES)


def get_policy(name: str) -> ConfigurationPolicy:
    """Return the policy called ``name``.

    Raises ``SimulationError`` for an unknown name; the message lists the known ones.

    >>> get_policy("fixed").title
    'Fixed'
    """
    return POLICIES.find(name)


def unknown_names(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each policy and measured network of a scenario's data that is not known."""
    part = mapping(data.get("serverless"))
    yield from unknown_strategies("serverless.policies", part.get("policies"), get_policy)
    for name, function in mapping(part.get("functions")).items():
        network = mapping(function).get("network")
        if isinstance(network, str) and network not in network_names():
            yield (
                f"serverless.functions.{name}.network: {network[:60]!r} is not a measured network; "
                f"{suggestion(network, network_names())}."
            )
