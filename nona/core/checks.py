"""What a run tests on itself: conservation, Little's law, busy times, causality."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One property that the run tested on itself; ``detail`` is one line for people."""

    name: str
    ok: bool
    detail: str


def passed_and_failed(checks: Mapping[str, Iterable[Check]]) -> tuple[dict[str, bool], tuple[str, ...]]:
    """Return whether each check held under every scheduler or policy, and a line for each that failed.

    Parameters
    ----------
    checks
        Scheduler or policy → the checks of all its runs.
    """
    passed: dict[str, bool] = {}
    failed: dict[str, None] = {}
    for name, rows in checks.items():
        for check in rows:
            passed[check.name] = passed.get(check.name, True) and check.ok
            if not check.ok:
                failed[f"{name}: {check.name}: {check.detail}"] = None
    return passed, tuple(failed)
