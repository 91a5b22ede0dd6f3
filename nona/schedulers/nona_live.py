"""``nona-live``: the placement as a price list, corrected by what is seen when a query arrives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.placement.placement import Placement
from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.schedulers.live_build import build_live
from nona.schedulers.live_policy import decide
from nona.schedulers.options import check_options, required_placement
from nona.system import System


def prepare(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    """Tables."""
    check_options("nona-live", options, known=("link",))
    solved = required_placement("nona-live", placement)
    return Prepared(build_live(system, solved, options.get("link", "live") == "live"), 1)


SCHEDULER = Scheduler(
    name="nona-live",
    kind="bind",
    network_view=NetworkView.N4,
    summary="The placement's configurations and the whole query, whichever ends first in the queues as they stand.",
    source="Ours",
    adaptation="Not in the paper on Nona.",
    decide=decide,
    prepare=prepare,
    needs_placement=True,
    reads_queues=True,
)
