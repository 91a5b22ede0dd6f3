"""Views and shape computations: free."""

from __future__ import annotations

from nona.cost.rules.registry import rule
from nona.cost.rules.site import Site
from nona.graph.model import Work


@rule(
    *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Optional"),
    *("OptionalGetElement", "BitCast"),
    launch="view",
)
def view(site: Site) -> Work:
    """The same bytes under another shape (Dropout does nothing at inference)."""
    return site.work(read=0.0, write=0.0, weight=0.0)


@rule("Shape", "Size", "OptionalHasElement", "SequenceLength", launch="host")
def shape(site: Site) -> Work:
    """Known before the kernels run."""
    return site.work(read=0.0, write=site.write_bytes, weight=0.0)
