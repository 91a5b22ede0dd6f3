"""Quick answers while numbers change: request, supersede, receive, combine.

An answer is asked for by the fingerprint of a scenario. When other questions are put, what waits or runs is
superseded, and the first that is open waits for its turn; the former answer stays until the new one is
there. Schedulers that need a placement, and those that need none, are asked in two processes where two
places are free, so that these simulate while the placement is solved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nona.app.jobs.kinds import KINDS
from nona.app.jobs.registry import AppJob, JobRegistry
from nona.app.session.uploads import Uploads
from nona.core.errors import JobError
from nona.core.experiments import cores
from nona.queries.results import QuickAnswer, SimulationReport
from nona.queries.schedulers.registry import get_scheduler, scheduler_names
from nona.scenario.file import scenario_hash, scenario_to_mapping
from nona.scenario.schema import Scenario

KIND = "answer"
MOST_KEPT = 24  # answers, so that a number that comes back is answered at once


@dataclass(frozen=True, slots=True)
class ScenarioState:
    """A scenario with the fingerprint of those of its parts that an answer depends on."""

    fingerprint: str
    scenario: Scenario


def question(scenario: Scenario) -> ScenarioState:
    """Return the question about a scenario."""
    return ScenarioState(scenario_hash(scenario, *KINDS.find(KIND).parts), scenario)


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer with the fingerprint of the scenario that it belongs to; whether it is the last word."""

    fingerprint: str
    data: QuickAnswer
    complete: bool = False


@dataclass
class LiveAnswers:
    """A session's request, and its latest answers.

    ``asked`` is the fingerprint that the jobs in ``parts`` work on, empty while there are none; ``names``
    are its schedulers, ``seen`` is what the jobs had reported at the last look. ``errors`` holds the lines
    of failed jobs, by fingerprint; it is asked again when ``first``, the first question, has changed.
    ``last`` is the answer that was shown last.
    """

    requested: str = ""
    parts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    first: str = ""
    answers: dict[str, ShownAnswer] = field(default_factory=dict)
    errors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    last: ShownAnswer | None = None
    watched: tuple[Mapping[str, Any], ...] = ()

    def refresh(
        self, registry: JobRegistry, questions: Sequence[ScenarioState], uploads: Uploads, owner: str = ""
    ) -> None:
        """Ask the first of ``questions`` that has no complete answer yet, and take in what there is.

        The question waits for its turn among those of other owners.
        """
        if self.first != questions[0].fingerprint:
            self.first, self.errors = questions[0].fingerprint, {}
        if self.requested and self.requested not in {q.fingerprint for q in questions}:
            self.stop(registry)
        wanted = next((q for q in questions if not self.is_final(q.fingerprint)), None)
        if wanted is None:
            return
        if self.requested != wanted.fingerprint or self._lost(registry):
            self.stop(registry)
            self._start(registry, wanted, uploads, owner)
        self._poll(registry)

    def find(self, fingerprint: str) -> ShownAnswer | None:
        """Return the answer for a scenario, as far as it is known."""
        return self.answers.get(fingerprint)

    def is_final(self, fingerprint: str) -> bool:
        """Return whether a scenario's answer is final: all is simulated, or it failed."""
        answer = self.answers.get(fingerprint)
        return fingerprint in self.errors or (answer is not None and answer.complete)

    def in_line(self, registry: JobRegistry) -> AppJob | None:
        """Return the part of the question that starts first, while all of them wait for their turn."""
        jobs = self._jobs(registry)
        return jobs[0] if jobs and all(job.waiting for job in jobs) else None

    def stop(self, registry: JobRegistry) -> None:
        """Cancel the request; the answers so far stay."""
        for job_id in self.parts:
            registry.supersede(job_id)
        self.requested, self.parts, self.watched = "", (), ()

    def _poll(self, registry: JobRegistry) -> None:
        jobs = self._jobs(registry)
        for job in jobs:
            job.mark_watched()
        if not self.requested:
            return
        unfinished = any(job.unfinished for job in jobs)
        answers = tuple(job.live for job in jobs if job.live)
        waiting = any(job.unfinished and not job.live for job in jobs)
        if answers and not waiting and not (unfinished and self._has_seen(answers)):
            self.watched = answers
            self._keep([QuickAnswer.from_json(t) for t in answers], not unfinished)
        if not unfinished:
            failed = tuple(dict.fromkeys(job.error for job in jobs if job.status == "failed"))
            if failed:
                self.errors[self.requested] = failed
            self.requested, self.parts, self.watched = "", (), ()

    def _keep(self, answers: Sequence[QuickAnswer], complete: bool) -> None:
        former, answer = self.answers.pop(self.requested, None), merged(answers, self.names)
        worse = former is not None and former.data.replications > answer.replications  # asked a second time
        self.answers[self.requested] = (
            former if former and worse else ShownAnswer(self.requested, answer, complete)
        )
        for old in list(self.answers)[:-MOST_KEPT]:
            del self.answers[old]

    def _has_seen(self, news: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether no job has news, by identity: to look often must cost little."""
        return len(news) == len(self.watched) and all(t is s for t, s in zip(news, self.watched, strict=True))

    def _jobs(self, registry: JobRegistry) -> list[AppJob]:
        return [job for job in map(registry.get, self.parts) if job is not None]

    def _lost(self, registry: JobRegistry) -> bool:
        jobs = self._jobs(registry)
        return len(jobs) < len(self.parts) or any(job.status == "cancelled" for job in jobs)

    def _start(self, registry: JobRegistry, wanted: ScenarioState, uploads: Uploads, owner: str) -> None:
        started: list[str] = []
        scenario = wanted.scenario
        base = scenario_to_mapping(scenario)
        own = {s.name: s.options for s in scenario.schedulers}
        for names in _split(scenario, min(registry.free(KIND), cores())):
            chosen = [{"name": n, "options": own[n]} for n in names]
            spec = {"scenario": {**base, "schedulers": chosen}, "uploads": str(uploads.folder)}
            try:
                started.append(registry.start(KIND, spec, wanted.fingerprint, uploads, owner).id)
            except JobError:  # too many wait: ask again at the next look
                for job_id in started:
                    registry.supersede(job_id)
                return
        self.requested, self.parts = wanted.fingerprint, tuple(started)
        self.names = tuple(s.name for s in scenario.schedulers)


def _split(scenario: Scenario, processes: int) -> list[list[str]]:
    """Return the schedulers in one list, or in two if these may run at once."""
    names = list(dict.fromkeys(s.name for s in scenario.schedulers))
    placed = [n for n in names if n in scheduler_names() and get_scheduler(n).needs_placement]
    others = [n for n in names if n not in placed]
    return [placed, others] if placed and others and processes > 1 else [names]


def merged(answers: Sequence[QuickAnswer], order: Sequence[str]) -> QuickAnswer:
    """Return the parts of an answer as one, schedulers in ``order``."""
    return QuickAnswer(
        predicted={name: value for t in answers for name, value in t.predicted.items()},
        report=_report([t.report for t in answers], order),
        replications=min(t.replications for t in answers),
        jobs=min(t.jobs for t in answers),
        engine=", ".join(sorted({t.engine for t in answers})),
        failed={name: why for t in answers for name, why in t.failed.items()},
    )


def _report(reports: Sequence[SimulationReport], order: Sequence[str]) -> SimulationReport:
    rows = {name: row for r in reports for name, row in r.schedulers.items()}
    checks: dict[str, bool] = {}
    for report in reports:
        for name, ok in report.checks.items():
            checks[name] = checks.get(name, True) and ok
    return SimulationReport(
        engine=", ".join(sorted({r.engine for r in reports})),
        seconds=max(r.seconds for r in reports),
        schedulers={name: rows[name] for name in order if name in rows},
        checks=checks,
        failed_checks=tuple(line for r in reports for line in r.failed_checks),
        warmup=None,
        precision=None,
    )
