"""The policies of training clusters, as other commands list and refuse them."""

from __future__ import annotations

from nona.allocation.policies.registry import POLICIES
from nona.errors import NonaError
from nona.results.catalogue import SchedulerEntry
from nona.schedulers.registry import SCHEDULERS


def policy_entries() -> list[SchedulerEntry]:
    """The policies as listed by ``nona schedulers``; none of them sees the network."""
    return [
        SchedulerEntry(
            name=p.name,
            kind="allocate",
            family="Training policies",
            network_view="N0",
            summary=p.summary,
            source=p.source,
            adaptation=p.adaptation,
        )
        for p in POLICIES.values()
    ]


def refuse_training_policy(name: str) -> None:
    """Reject a policy's name given to ``nona simulate``, naming the command that runs it.

    Raises
    ------
    NonaError
        When the name is that of a policy of training clusters only.
    """
    if name in POLICIES and name not in SCHEDULERS:
        raise NonaError(
            f"--scheduler {name!r} is a policy for training clusters; run it with "
            f"`nona training simulate SCENARIO --policy {name}`."
        )
