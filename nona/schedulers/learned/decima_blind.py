"""``decima-blind``: a learned policy that does not see the link's load."""

from __future__ import annotations

from nona.look import Look
from nona.schedulers.base import NetworkView, Scheduler
from nona.schedulers.learned.decide import decide
from nona.schedulers.learned.policy import ADAPTATION, SOURCE, Cautions, LearnedPolicy

POLICY = LearnedPolicy("decima-blind")

SCHEDULER = Scheduler(
    name="decima-blind",
    kind="pick",
    network_view=NetworkView.N1,
    summary="A learned policy for ready tasks and executors, with the link's load hidden.",
    family="learned",
    source=SOURCE,
    adaptation=ADAPTATION
    + "It knows what a transfer takes alone, which Decima does not, and nothing of the load of the link.",
    decide=decide,
    prepare=POLICY,
    reads_queues=True,
    cautions=Cautions(POLICY),
    look=Look("#b58900", "dashdot", "hexagram"),
)
