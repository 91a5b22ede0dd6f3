"""Remarks of the slides on Nona (CloudNet 2024) about how other systems see the network, each checked.

What the sources say comes from the systems' public programs where there is one, read and run; else from the
papers, from memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nona.cluster.hardware.table_file import shipped_table
from nona.core.tables import Column, Table
from nona.queries.schedulers.registry import SCHEDULERS


@dataclass(frozen=True, slots=True)
class NetworkRemark:
    """A remark of the slides on a system's view of the network, its ``source``, and the verdict of that.

    ``scheduler``: the name under which the system's scheduler is registered here; there may be none.
    ``evidence``: the kind of the source.
    """

    scheduler: str
    system: str
    slides: str
    source: str
    verdict: str
    evidence: str


#: Scheduler → remark, in the order of the slides, whether it is registered or not.
REMARKS: Mapping[str, NetworkRemark] = MappingProxyType(
    {row["scheduler"]: NetworkRemark(**row) for row in shipped_table("evidence", "network_remarks.csv")}
)


def known_remarks() -> tuple[NetworkRemark, ...]:
    """The remarks on systems whose scheduler is registered.

    >>> "sparrow" in [r.scheduler for r in known_remarks()]
    True
    """
    return tuple(r for r in REMARKS.values() if r.scheduler in SCHEDULERS)


REMARKED = Table[NetworkRemark](
    "",
    (
        Column("system", lambda r: r.system),
        Column("the slides say", lambda r: r.slides),
        Column("the remark is", lambda r: r.verdict),
        Column("view here", lambda r: SCHEDULERS[r.scheduler].network_view.name),
        Column("its source says", lambda r: f"{r.source} ({r.evidence})"),
    ),
)
