"""Quick answers while numbers change: request, supersede, receive, combine.

An answer is asked for by the fingerprint of the scenario. When that changes, what runs is superseded
and the new question goes to a worker that waits; the former answer stays until the new one is there.
Schedulers that need a placement, and those that need none, are asked in two processes where the
machine has room, so that these simulate while the placement is solved.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nona.errors import JobError
from nona.results.simulation.answer import QuickAnswer
from nona.results.simulation.report import SimulationReport
from nona.scenario.file import scenario_to_mapping
from nona.scenario.schema import Scenario
from nona.schedulers.registry import get_scheduler, scheduler_names
from nona.ui.jobs.job import Job
from nona.ui.jobs.registry import JobRegistry
from nona.ui.session.uploads import Uploads


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer with the fingerprint of the scenario that it belongs to."""

    fingerprint: str
    data: QuickAnswer


@dataclass
class Live:
    """A session's request, and its latest answer.

    ``asked`` is the fingerprint that the jobs in ``parts`` work on, empty while none could be started.
    ``before`` is the last answer for another scenario than that of ``answer``; ``seen`` is what the jobs
    had told when ``answer`` was read.
    """

    on: bool = False
    asked: str = ""
    parts: tuple[str, ...] = ()
    answer: Shown | None = None
    before: Shown | None = None
    errors: tuple[str, ...] = ()
    seen: tuple[Mapping[str, Any], ...] = ()

    def refresh(self, registry: JobRegistry, fingerprint: str, scenario: Scenario, uploads: Uploads) -> None:
        """Ask for ``fingerprint`` if that has not been done yet, and take in what there is."""
        if self._lost(registry) or self.asked != fingerprint:
            self.stop(registry)
            self._ask(registry, fingerprint, scenario, uploads)
        jobs = self._jobs(registry)
        for job in jobs:
            job.touch()
        if not self.asked:
            return
        told = tuple(job.live for job in jobs if job.live)
        self.errors = tuple(job.error for job in jobs if job.status == "failed")
        waiting = any(job.running and not job.live for job in jobs)
        if told and not waiting and not self._has_seen(told):
            order, self.seen = [s.name for s in scenario.schedulers], told
            self._take(Shown(self.asked, merged([QuickAnswer.from_json(t) for t in told], order)))

    def busy(self, registry: JobRegistry) -> bool:
        """Whether the answer is pending, or is being refined."""
        return not self.asked or any(job.running for job in self._jobs(registry))

    def stop(self, registry: JobRegistry) -> None:
        """Cancel the request; the answer so far stays."""
        for job_id in self.parts:
            registry.supersede(job_id)
        self.asked, self.parts, self.errors, self.seen = "", (), (), ()

    def _has_seen(self, told: Sequence[Mapping[str, Any]]) -> bool:
        """Whether no job has told anything new: to look often must cost little."""
        return len(told) == len(self.seen) and all(t is s for t, s in zip(told, self.seen, strict=True))

    def _jobs(self, registry: JobRegistry) -> list[Job]:
        return [job for job in map(registry.get, self.parts) if job is not None]

    def _lost(self, registry: JobRegistry) -> bool:
        """Whether the jobs ended without an answer (unwatched, or discarded)."""
        if self.answer is not None and self.answer.fingerprint == self.asked:
            return False
        jobs = self._jobs(registry)
        return len(jobs) < len(self.parts) or any(job.status == "cancelled" for job in jobs)

    def _ask(self, registry: JobRegistry, fingerprint: str, scenario: Scenario, uploads: Uploads) -> None:
        started: list[str] = []
        base = scenario_to_mapping(scenario)
        own = {s.name: s.options for s in scenario.schedulers}
        for names in _split(scenario, min(registry.free, os.cpu_count() or 1)):
            chosen = [{"name": n, "options": own[n]} for n in names]
            spec = {"scenario": {**base, "schedulers": chosen}, "uploads": str(uploads.folder)}
            try:
                started.append(registry.start("answer", spec, fingerprint, keep=uploads).id)
            except JobError:  # somebody else was quicker: ask again at the next look
                for job_id in started:
                    registry.supersede(job_id)
                return
        if started:
            self.asked, self.parts = fingerprint, tuple(started)

    def _take(self, shown: Shown) -> None:
        if self.answer is not None and self.answer.fingerprint != shown.fingerprint:
            self.before = self.answer
        self.answer = shown


def _split(scenario: Scenario, processes: int) -> list[list[str]]:
    """The schedulers in as many lists as may run at once: none, one, or two."""
    names = list(dict.fromkeys(s.name for s in scenario.schedulers))
    placed = [n for n in names if n in scheduler_names() and get_scheduler(n).needs_placement]
    others = [n for n in names if n not in placed]
    if processes < 1:
        return []
    return [placed, others] if placed and others and processes > 1 else [names]


def merged(told: Sequence[QuickAnswer], order: Sequence[str]) -> QuickAnswer:
    """The parts of an answer as one, schedulers in ``order``."""
    return QuickAnswer(
        predicted={name: value for t in told for name, value in t.predicted.items()},
        report=_report([t.report for t in told], order),
        replications=min(t.replications for t in told),
        jobs=min(t.jobs for t in told),
        engine=", ".join(sorted({t.engine for t in told})),
        failed={name: why for t in told for name, why in t.failed.items()},
    )


def _report(reports: Sequence[SimulationReport], order: Sequence[str]) -> SimulationReport:
    found = {name: row for r in reports for name, row in r.schedulers.items()}
    checks: dict[str, bool] = {}
    for report in reports:
        for name, ok in report.checks.items():
            checks[name] = checks.get(name, True) and ok
    return SimulationReport(
        engine=", ".join(sorted({r.engine for r in reports})),
        seconds=max(r.seconds for r in reports),
        schedulers={name: found[name] for name in order if name in found},
        checks=checks,
        failed_checks=tuple(line for r in reports for line in r.failed_checks),
        warmup=None,
        precision=None,
    )
