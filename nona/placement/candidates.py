"""Which configurations of a sub-graph are considered."""

from __future__ import annotations

from nona.placement.configurations import ENUMERATED, configuration_labels
from nona.placement.evaluate import Candidates
from nona.placement.large import large_candidates
from nona.placement.messages import Link
from nona.placement.shape import Shape


def candidates(shape: Shape, link: Link, slots: int, enumerated: int = ENUMERATED) -> Candidates:
    """All configurations on at most ``slots`` servers for interiors of up to ``enumerated`` tasks.

    Larger interiors are partitioned by connected component and symmetry class, see
    :mod:`nona.placement.large`; ``exhaustive`` and ``note`` of the result say what was left out.
    """
    if shape.m > enumerated:
        return large_candidates(shape, link, slots)
    labels = configuration_labels(
        shape.m,
        servers=slots if slots < shape.m else None,
        root_free=not shape.has_root,
        sink_free=not shape.has_sink,
    )
    return Candidates(shape, labels, link)
