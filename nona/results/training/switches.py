"""What each switch of a training cluster costs."""

from __future__ import annotations

from nona.results.document import Document, Figure
from nona.results.estimate import Estimate
from nona.results.training.extensions import ExtensionFindings


class SwitchRow(Document):
    """A policy under one setting of one switch, all others off.

    ``added_s``: mean JCT minus that with all switches off, over the same jobs and random numbers.
    """

    setting: str
    policy: str
    jct_s: Estimate
    added_s: Estimate
    moves: float
    lost_steps_share: Figure
    findings: ExtensionFindings | None


class SwitchesReport(Document):
    """All settings; the first one is with all switches off. ``failed_checks`` of all runs."""

    scenario: str
    replications: int
    rows: tuple[SwitchRow, ...]
    failed_checks: tuple[str, ...]
    seconds: float
