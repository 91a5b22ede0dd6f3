"""Everything that is shown of a solved placement, with local and spread for comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer

from nona.results.about import About, ModelFacts
from nona.results.document import Document, Figure
from nona.results.estimate import OffRange
from nona.results.placement.report import FullPlacementReport
from nona.results.placement.search import SearchStep
from nona.results.placement.working import Working


class PlacementOutcome(Document):
    """The placement, local and spread (``None`` where there is no steady state), and the models' times.

    ``if_times_off``: the range of the mean JCT if modelled times are off, ``None`` where none is modelled.
    ``ended_early_s``: seconds after which the search was cancelled; ``None``, and absent from the JSON, if
    it came to its end.
    """

    about: About
    nona: FullPlacementReport
    local: FullPlacementReport | None
    spread: FullPlacementReport | None
    models: Mapping[str, ModelFacts]
    if_times_off: OffRange | None = None
    ended_early_s: Figure = None

    @model_serializer(mode="wrap")
    def _without_end(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        if self.ended_early_s is None:
            data.pop("ended_early_s", None)
        return data


class SolvedPlacement(PlacementOutcome):
    """The same with the working, and the steps of the search.

    ``known``: the placement had been solved before, in ``nona.seconds``, and was taken from the cache.
    """

    working: Working
    steps: tuple[SearchStep, ...]
    known: bool = False

    @classmethod
    def of(
        cls, outcome: PlacementOutcome, working: Working, steps: tuple[SearchStep, ...], known: bool = False
    ) -> Self:
        """The outcome with its working and the steps that led to it."""
        return cls(**dict(outcome), working=working, steps=steps, known=known)
