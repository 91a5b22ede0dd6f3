"""``nona-live``: the placement as a price list, corrected by the queues at a query's arrival."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.errors import SimulationError
from nona.look import Look
from nona.options import number
from nona.placement.result.placement import Placement
from nona.schedulers.base import NetworkView, Prepared, Rehearsal, Scheduler
from nona.schedulers.live.build import build_live
from nona.schedulers.live.policy import decide
from nona.schedulers.live.quota import with_quota
from nona.schedulers.options import check_options, required_placement
from nona.system import System

LINKS = ("live", "none")
SHARES = (1.0, 0.5, 0.2, 0.0)


def prepare(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    """Tables of task graphs, configurations and waits; option ``link``: ``live``, by default, reads the
    link's queue, ``none`` takes the wait that its background leads to; option ``split``, 1 by default: the
    share of the jobs that may be split."""
    check_options("nona-live", options, known=("link", "split"))
    link = options.get("link", LINKS[0])
    if link not in LINKS:
        raise SimulationError(
            f"Scheduler 'nona-live': link={link!r} must be one of {', '.join(LINKS)}; correct the option."
        )
    solved = required_placement("nona-live", placement)
    tables = build_live(system, solved, link == "live")
    if not tables.live:
        tables = with_quota(system, tables)
    share = number("Scheduler 'nona-live'", {"split": 1.0, **options}, "split", most=1.0)
    return Prepared(tables._replace(quota=share * tables.quota), 2)


SCHEDULER = Scheduler(
    name="nona-live",
    kind="bind",
    family="placement",
    network_view=NetworkView.N4,
    summary="Keeps a query whole or splits it as the placement allows, whichever ends first in the "
    "present queues.",
    source="Ours: nona's configurations and price of traffic, list scheduling and least work left combined",
    adaptation=(
        "Not in the paper on Nona. At arrival each sub-graph is walked through the present queues, in the "
        "placement's configurations, all local, and with each task where it ends first (HEFT: Topcuoglu, "
        "Hariri and Wu, IEEE TPDS 2002); bytes cost the placement's price of congestion. With option "
        "link: none, and where there are several links, it does not read the link's queue. In studies the "
        "share of jobs that may be split (option split: 1, 0.5, 0.2 or 0), or drawing configurations as "
        "nona-d2 does, is chosen by short simulations of the system before the run."
    ),
    decide=decide,
    prepare=prepare,
    needs_placement=True,
    rehearsals=(*(Rehearsal({"split": share}) for share in SHARES), Rehearsal({}, decided_by="nona-d2")),
    reads_queues=True,
    takes_lists=True,
    look=Look("#8b3fd9", "longdash", "circle-cross"),
)
