"""Self-checks: what the worker does."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from nona import __version__
from nona.results.checks import SelfCheck, SelfCheckProgress, SelfCheckResult
from nona.study.self_checks import SELF_CHECKS, self_checks
from nona.ui.jobs.desk import Desk


def check_self(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Run every self-check; finished rows are reported with the progress."""
    begin = time.monotonic()
    rows: list[SelfCheck] = []
    desk.emit({"fraction": 0.0, "text": "Simulating a small scenario with every scheduler"})
    for check in self_checks():
        desk.check()
        rows.append(check)
        share = min(1.0, len(rows) / SELF_CHECKS)
        live = SelfCheckProgress(rows=tuple(rows)).to_json()
        desk.emit({"fraction": share, "text": check.name, "live": live})
    seconds = time.monotonic() - begin
    return SelfCheckResult(rows=tuple(rows), seconds=seconds, version=__version__).to_json()
