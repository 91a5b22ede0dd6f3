"""Which configurations of a sub-graph are considered."""

from __future__ import annotations

import numpy as np

from nona.placement.configurations.labels import ENUMERATED, Labels, configuration_labels
from nona.placement.configurations.shape import Shape
from nona.placement.enumeration.large_interiors import large_candidates
from nona.placement.spans.candidates import Candidates
from nona.placement.spans.messages import Link


def candidates(shape: Shape, link: Link, slots: int, enumerated: int = ENUMERATED) -> Candidates:
    """All configurations on at most ``slots`` servers for interiors of up to ``enumerated`` tasks.

    One more stands beside them: every task on a server of its own, the root's and the sink's left
    without a part. It moves more bytes than its neighbours in the enumeration, but its blocks of work
    are the shortest, which can pay where the servers' wait rules.

    Larger interiors are partitioned by connected component and symmetry class, see
    :mod:`nona.placement.enumeration.large_interiors`; ``exhaustive`` and ``note`` of the result say what was
    left out.
    """
    if shape.m > enumerated:
        return large_candidates(shape, link, slots)
    labels = configuration_labels(
        shape.m,
        servers=slots if slots < shape.m else None,
        root_free=not shape.has_root,
        sink_free=not shape.has_sink,
    )
    return Candidates(shape, _with_spread(labels, shape.m, slots), link)


def _with_spread(labels: Labels, m: int, slots: int) -> Labels:
    if m < 2 or slots <= m:
        return labels
    return np.vstack([labels, [*range(1, m + 1), 0]])
