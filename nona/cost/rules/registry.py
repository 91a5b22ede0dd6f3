"""The register of FLOP and byte rules: operator kind → rule. Adding a kind is one function.

Conventions: a multiply-add is two FLOPs; a bias adds one per output element; an element-wise
function, however costly, counts one per output element (it is bound by memory); views cost
nothing. MACs are those of convolutions, matrix products and recurrences only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from nona.cost.rules.site import Site
from nona.graph.model import Work

Launch = Literal["kernel", "fused", "view", "host"]
"""``kernel``: always its own kernel; ``fused``: part of its producer's where the software fuses;
``view``: no work at all; ``host``: never on the device."""

Count = Callable[[Site], Work]


@dataclass(frozen=True, slots=True)
class Rule:
    """How one kind of operator counts, and whether it launches a kernel."""

    kind: str
    launch: Launch
    count: Count


_RULES: dict[str, Rule] = {}
RULES: Mapping[str, Rule] = MappingProxyType(_RULES)
"""All rules by kind of operator; filled when :mod:`nona.cost.rules` is imported."""


def rule(*kinds: str, launch: Launch = "kernel") -> Callable[[Count], Count]:
    """Register the decorated function as the rule of ``kinds``.

    Raises
    ------
    ValueError
        When a kind has a rule already.
    """

    def register(count: Count) -> Count:
        for kind in kinds:
            if kind in _RULES:
                raise ValueError(f"Operator kind {kind!r} has two rules; remove one.")
            _RULES[kind] = Rule(kind, launch, count)
        return count

    return register
