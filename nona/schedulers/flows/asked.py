"""Policies of training clusters, asked about flows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nona.options import Option
from nona.schedulers.flows.claims import Claims, claims_of, single_claims
from nona.schedulers.flows.question import Question


@dataclass(frozen=True, slots=True)
class AskPolicy:
    """Asks the policy ``name`` of :mod:`nona.allocation` where two flows or more have work."""

    name: str
    options: Mapping[str, Option] = field(default_factory=dict)

    def __call__(self, question: Question, memory: Any) -> tuple[Claims, Any]:
        from nona.allocation.policies.registry import get_policy  # programs take a while to import

        if len(question.active) < 2:  # there is nothing to divide: all flows may use all executors
            return single_claims(0.0 * question.of.rates), None
        problem, order = question.problem()
        found = get_policy(self.name).prepare(self.options)(problem)
        return claims_of(question, found, order), None
