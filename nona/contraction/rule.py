"""The contraction rule: a name, its condition in words, and what merges the tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nona.contraction.merging import Merging


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to contract a model graph.

    Attributes
    ----------
    name
        What people type.
    condition
        When an edge a → b is contracted, in one sentence.
    source
        Where the rule comes from.
    apply
        Merges in the given :class:`Merging` until nothing more may be merged.
    confluent
        Whether the tasks are the same whatever the order of the merges. Every rule keeps the
        critical path for all task times; that is what makes it a rule here.
    """

    name: str
    condition: str
    source: str
    apply: Callable[[Merging], None]
    confluent: bool = True
