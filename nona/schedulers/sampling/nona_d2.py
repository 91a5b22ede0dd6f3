"""``nona-d2``: as ``nona``, with each draw of an executor being the less loaded of two."""

from __future__ import annotations

from nona.look import Look
from nona.schedulers.base import NetworkView, Scheduler
from nona.schedulers.sampling.policy import place_by_table
from nona.schedulers.sampling.preparations import FromPlacement

SCHEDULER = Scheduler(
    name="nona-d2",
    kind="bind",
    family="placement",
    network_view=NetworkView.N1,
    summary="Places as nona, but sends each part to the less loaded of two random executors.",
    source=(
        "Ours: nona with the power of two choices (Mitzenmacher: The Power of Two Choices in Randomized "
        "Load Balancing, IEEE TPDS 2001)"
    ),
    adaptation=(
        "Not in the paper on Nona. Load is the number of tasks waiting, running or promised; the two "
        "candidates differ and both are on servers that the sub-graph does not use. The first root is "
        "drawn in the same way. Each candidate's class is drawn by the shares. The placement is that of "
        "nona, whose waits assume draws that ignore queues."
    ),
    decide=place_by_table,
    prepare=FromPlacement("nona-d2", choices=2),
    needs_placement=True,
    reads_queues=True,
    takes_lists=True,
    look=Look("#a06cf5", "dash", "circle-open"),
)
