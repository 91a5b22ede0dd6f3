"""What a worker does for each kind of job: from a scenario as plain data to a result as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from nona.report.plain import plain
from nona.ui.jobs.desk import Desk
from nona.ui.jobs.kinds import KINDS, TaskKind

Run = Callable[[Mapping[str, Any], Desk], Mapping[str, Any]]


def run_task(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Run the job that ``spec`` describes: its ``kind``, ``scenario``, ``uploads``, ``folder``.

    Raises
    ------
    NonaError
        For a bad scenario, an infeasible placement, an unknown kind.
    """
    result: dict[str, Any] = plain(function_of(KINDS.find(str(spec.get("kind"))))(spec, desk))
    return result


def function_of(kind: TaskKind) -> Run:
    """The function that does a kind of job; its module is imported now."""
    module, _, name = kind.run.partition(":")
    run: Run = getattr(import_module(module), name)
    return run
