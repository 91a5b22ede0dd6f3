"""Candidates: configurations of one sub-graph, with what they send."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.placement.configurations.labels import Labels
from nona.placement.configurations.shape import Shape
from nona.placement.spans.messages import Link, Messages, messages


@dataclass(frozen=True, eq=False)
class Candidates:
    """Configurations of one shape, ready to be evaluated.

    ``exhaustive`` says that they are all there are (up to symmetry); ``note`` says what else.
    """

    shape: Shape
    labels: Labels
    link: Link
    exhaustive: bool = True
    note: str = ""

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def messages(self) -> Messages:
        """What crosses the link."""
        return messages(self.shape, self.labels, self.link)

    @cached_property
    def local(self) -> NDArray[np.bool_]:
        """(n,) Which configurations keep everything on the root's server."""
        result: NDArray[np.bool_] = (self.labels == 0).all(axis=1)
        return result

    @cached_property
    def sink_visit(self) -> NDArray[np.bool_]:
        """(n,) Whether the sink queues again at its server."""
        return ~self.local & self.shape.has_sink

    @cached_property
    def plans(self) -> dict[int, object]:
        """Configurations as :mod:`nona.placement.spans.single_span` walks them, made when first needed."""
        return {}

    @cached_property
    def envelopes(self) -> dict[float, object]:
        """Their lines in the link's wait at the last few server waits, see
        :mod:`nona.placement.spans.envelope`.
        """
        return {}

    @cached_property
    def runs(self) -> dict[float, object]:
        """Their blocks by the probability that an executor is busy, see
        :mod:`nona.placement.waits.run_length`.
        """
        return {}

    def take(self, rows: NDArray[np.int64]) -> Candidates:
        """Only some of the configurations."""
        return Candidates(self.shape, self.labels[rows], self.link, self.exhaustive, self.note)
