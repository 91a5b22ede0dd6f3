"""``decima-link``: a learned policy that sees the link's queue."""

from __future__ import annotations

from nona.look import Look
from nona.schedulers.base import NetworkView, Scheduler
from nona.schedulers.learned.decide import decide
from nona.schedulers.learned.policy import ADAPTATION, SOURCE, Cautions, LearnedPolicy

POLICY = LearnedPolicy("decima-link")

SCHEDULER = Scheduler(
    name="decima-link",
    kind="pick",
    network_view=NetworkView.N4,
    summary="A learned policy for ready tasks and executors, with the link's queue in sight.",
    family="learned",
    source=SOURCE,
    adaptation=ADAPTATION
    + "Ours: Decima sees no network at all; this one also sees the queue of the live link.",
    decide=decide,
    prepare=POLICY,
    reads_queues=True,
    cautions=Cautions(POLICY),
    look=Look("#8a4fb8", "solid", "star-square"),
)
