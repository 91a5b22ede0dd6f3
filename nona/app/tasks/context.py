"""Input of a task: its context, its scenario and files; its reports of a placement."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from nona.core.document import Document
from nona.core.errors import JobError
from nona.core.experiments import cores, do_nothing
from nona.core.text import count_text
from nona.core.units import format_time
from nona.queries.workflows.cache import PreparationCache
from nona.queries.workflows.placing import PlacingProgress, Stage
from nona.queries.workflows.preparation import PreparedSystem, prepare
from nona.scenario.file import scenario_from_mapping
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario

Request = TypeVar("Request", bound=Document)
Message = dict[str, Any]
"""JSON: what a task reports, and its result."""

MOST_PROCESSES = 4


def processes(work: int, few: int) -> int:
    """Return the number of processes for so much work: one up to ``few``, where more cost more to start.

    >>> processes(10, 100)
    1
    """
    return 1 if work <= few else min(MOST_PROCESSES, cores())


@dataclass
class JobContext:
    """``emit`` sends a line to the waiting session; ``check`` raises ``Cancelled`` when none waits."""

    emit: Callable[[Message], None]
    check: Callable[[], None] = do_nothing
    cache: PreparationCache = field(default_factory=PreparationCache)
    _told_s: float = field(default=float("-inf"), init=False)

    def report_progress(
        self,
        fraction: float,
        text: str,
        live: Callable[[], Document] | None = None,
        *,
        every_s: float = 0.2,
        keeps: bool = False,
        **more: object,
    ) -> None:
        """Report how far the work is, unless that was done less than ``every_s`` ago.

        ``live`` is what is known so far; ``keeps``: it is what the work leaves if it is cancelled now.
        Raises ``Cancelled`` when no session waits any more.
        """
        self.check()
        if time.monotonic() - self._told_s < every_s:
            return
        self._told_s = time.monotonic()
        so_far = {} if live is None else {"live": live().to_json(), "keeps": keeps}
        self.emit({"fraction": fraction, "text": text, **so_far, **more})


def request_of(spec: Mapping[str, Any], of: type[Request]) -> Request:
    """Return the part of a job's description that asks for more than the scenario says."""
    try:
        return of.from_json({name: spec[name] for name in of.model_fields})
    except (KeyError, ValidationError):
        given = {name: spec.get(name) for name in of.model_fields}
        raise JobError(f"Job: {given} must be a valid {of.__name__}; start it from its page.") from None


def scenario_of(spec: Mapping[str, Any]) -> Scenario:
    """Read the scenario of a job."""
    return scenario_from_mapping(spec["scenario"])


def sources_of(spec: Mapping[str, Any]) -> Sources:
    """Return the sources of the job's files: the session's uploads, and nothing else."""
    return Sources(Path(spec["uploads"]) if spec.get("uploads") else None, confined=True)


def prepared_of(spec: Mapping[str, Any], context: JobContext) -> PreparedSystem:
    """Read and contract the models of a job's scenario."""
    context.emit({"fraction": 0.0, "text": "Reading and contracting the models", "phase": MODELS})
    prepared = prepare(scenario_of(spec), sources_of(spec), context.cache)
    context.emit({"phase": ""})
    return prepared


MODELS, PLACEMENT = "models", "placement"  # phases of a job before what it is for
EVERY_S = 0.3
LEAST_S = 1.0  # of the work, before a time is estimated
TEXTS: Mapping[Stage, str] = {
    "formula": "Solving the formula",
    "simulation": "Simulating candidates",
}


class PlacingReporter:
    """Takes in the progress of a placement, and reports it now and then.

    The placement fills the job's bar from ``first`` to ``last``; ``before`` begins every text.
    """

    def __init__(
        self,
        context: JobContext,
        first: float = 0.0,
        last: float = 1.0,
        before: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context, self._first, self._last, self._before = context, first, last, before
        self._clock, self._reported_s, self._began = clock, float("-inf"), clock()
        self._stage: Stage | None = None

    def on_progress(self, progress: PlacingProgress) -> bool:
        """Take in a report, and return whether it was passed on; the first of a stage always is."""
        now = self._clock()
        if progress.stage == self._stage and now - self._reported_s < EVERY_S:
            return False
        self._stage, self._reported_s = progress.stage, now
        parts = [f"{self._before}{TEXTS[progress.stage]}"]
        if progress.runs:
            parts.append(f"{count_text(progress.runs, 'run')} done")
        left_s = _left_at_most_s(now - self._began, progress.share)
        if left_s is not None:
            parts.append(f"at most about {format_time(float(f'{left_s:.2g}'))} more")
        fraction = self._first + (self._last - self._first) * progress.share
        phase = {"phase": PLACEMENT} if self._before else {}  # else it is what the job is for
        self._context.emit({"fraction": fraction, "text": ", ".join(parts), "open": True, **phase})
        return True


def _left_at_most_s(elapsed_s: float, share: float) -> float | None:
    """Seconds until work of which ``share`` is done reaches its limit; ``None`` while it is too early.

    >>> _left_at_most_s(4.0, 0.25), _left_at_most_s(0.2, 0.25), _left_at_most_s(4.0, 0.0)
    (12.0, None, None)
    """
    if elapsed_s < LEAST_S or not 0.0 < share <= 1.0:
        return None
    return elapsed_s * (1.0 - share) / share


class CountAsked(Document):
    """The configurations of a model whose symbols have these values, with its times on that device."""

    model: str
    symbols: Mapping[str, int]
    device: str


class HoldsAsked(Document):
    """Ask whether the cluster as it stands holds under this scheduler."""

    scheduler: str


class WaysAsked(Document):
    """One policy under every way of sharing: calls of each run, runs of each way."""

    policy: str
    calls: int
    replications: int


class OneMoreRequest(Document):
    """One more GPU of each type, under this policy."""

    policy: str
