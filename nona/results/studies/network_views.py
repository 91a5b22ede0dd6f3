"""The study of network views: every scheduler on an idle and on a loaded link, with the same arrivals."""

from __future__ import annotations

from typing import Literal

from nona.results.document import Document
from nona.results.estimate import Estimate

State = Literal["stable", "backlogged", "overloaded"]


class NetworkViewsAbout(Document):
    """The command that made it, and the scenario: ``background`` is the share of the loaded link."""

    command: str
    version: str
    made: str
    seed: int
    jobs: int
    replications: int
    seconds: float
    model: str
    servers: int
    gpu: str
    capacity: str
    load: float
    background: float


class OnLink(Document):
    """One scheduler on one of the two links.

    ``jct_s`` is the mean JCT, unknown where there is no steady state; ``to_local`` its ratio to that of
    ``local`` on the same link; ``link`` the mean utilisation of the link, background included.
    """

    state: State
    jct_s: Estimate
    to_local: Estimate
    link: float


class NetworkViewRow(Document):
    """One scheduler on both links.

    ``view`` is its network view, ``N0`` … ``N4``. ``planned``: it samples from a placement that was solved
    for the mean background of each link. ``slowdown`` is the ratio of the mean JCT on the loaded link to that
    on the idle one, paired by replication.
    """

    scheduler: str
    view: str
    planned: bool
    idle: OnLink
    loaded: OnLink
    slowdown: Estimate

    @property
    def sends(self) -> bool:
        """Whether it sends tensors between servers: on the idle link nobody else does."""
        return self.idle.link > 0


class NetworkViewsStudy(Document):
    """Provenance, and a row for each scheduler."""

    about: NetworkViewsAbout
    rows: tuple[NetworkViewRow, ...]
