"""What can be saved: each kind with the type of its result, what is said of it, and how several compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from nona.errors import StoreError
from nona.registry import Registry
from nona.results.document import Document
from nona.results.saved import SavedAnswer, SavedFacts


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of several results beside each other, and for each how it was compared with the first."""

    answers: tuple[SavedAnswer, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SavedKind:
    """One kind of saved item.

    Its functions stand as ``module:function``, so that a list of items imports none of them.

    Attributes
    ----------
    name, noun
        What it is filed under, and what people call it.
    result
        The type of its result, a :class:`~nona.results.document.Document`.
    facts
        The function that says of a result what lists and searches show (:class:`SavedFacts`).
    answers
        The function that puts results side by side (:class:`Answers`).
    """

    name: str
    noun: str
    result: str
    facts: str
    answers: str

    def read(self, data: Mapping[str, Any]) -> Document:
        """The result from its JSON; ``ValueError`` where it is none."""
        found: Document = _named(self.result).from_json(data)
        return found

    def facts_of(self, result: Document) -> SavedFacts:
        """What a result says of itself."""
        found: SavedFacts = _named(self.facts)(result)
        return found

    def compare(self, results: Sequence[Document]) -> Answers:
        """Results beside each other, the first as the reference."""
        found: Answers = _named(self.answers)(results)
        return found


def _named(text: str) -> Any:
    module, _, name = text.partition(":")
    return getattr(import_module(module), name)


SIMULATION, PLAN = "simulation", "plan"
SAVED_KINDS: Registry[SavedKind] = Registry(
    "Kind of saved item",
    (
        SavedKind(
            SIMULATION,
            "simulation",
            "nona.report.simulations.simulated:SimulatedRun",
            "nona.store.simulations:facts",
            "nona.store.simulations:answers",
        ),
        SavedKind(
            PLAN,
            "plan",
            "nona.results.plan:PlanOutcome",
            "nona.store.plans:facts",
            "nona.store.plans:answers",
        ),
    ),
    StoreError,
)
