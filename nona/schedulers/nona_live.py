"""``nona-live``: the placement as a price list, corrected by what is seen when a query arrives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.errors import SimulationError
from nona.placement.result.placement import Placement
from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.schedulers.live_build import build_live
from nona.schedulers.live_policy import decide
from nona.schedulers.live_quota import with_quota
from nona.schedulers.options import check_options, required_placement
from nona.system import System

LINKS = ("live", "none")


def prepare(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    """Tables of task graphs, configurations and waits; option ``link``: ``live``, by default, reads the
    link's queue, ``none`` takes the wait that its background leads to."""
    check_options("nona-live", options, known=("link",))
    link = options.get("link", LINKS[0])
    if link not in LINKS:
        raise SimulationError(
            f"Scheduler 'nona-live': link={link!r} must be one of {', '.join(LINKS)}; correct the option."
        )
    solved = required_placement("nona-live", placement)
    tables = build_live(system, solved, link == "live")
    return Prepared(tables if tables.live else with_quota(system, tables), 2)


SCHEDULER = Scheduler(
    name="nona-live",
    kind="bind",
    network_view=NetworkView.N4,
    summary="Keeps a query whole or splits it as the placement may, whichever ends first in the queues seen.",
    source="Ours: nona's configurations and price of traffic, list scheduling and least work left combined",
    adaptation=(
        "Not in the paper on Nona. At arrival each sub-graph is walked through the queues as they stand, in "
        "the placement's configurations, all local, and with each task where it ends first (HEFT: Topcuoglu, "
        "Hariri and Wu, IEEE TPDS 2002); bytes cost the placement's price of congestion. With option "
        "link: none, and where there are several links, it does not read the link's queue."
    ),
    decide=decide,
    prepare=prepare,
    needs_placement=True,
    reads_queues=True,
    takes_lists=True,
)
