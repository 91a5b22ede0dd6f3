"""Long jobs on a page: started, watched, cancelled; their progress in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nona.app.jobs.expected import about_text, expected_s
from nona.app.jobs.kinds import KINDS
from nona.app.jobs.registry import AppJob
from nona.app.layout.run_keeper import keep_by_itself
from nona.app.session.state import AppState, Result, run_name
from nona.app.session.workspace import jobs, owner_key
from nona.core.errors import JobError
from nona.core.text import ordinal
from nona.core.units import duration
from nona.queries.report.report import SimulatedRun
from nona.scenario.file import scenario_to_mapping

WAITING_S = 1.0  # between two looks at a job that waits
LONG_S = 3.0  # of a job without an estimate, after which it says for how long it has run


def poll_interval(job: AppJob | None, running_s: float) -> float | None:
    """Seconds between two looks at a job: ``running_s`` while it runs; ``None`` once it has ended."""
    if job is None or not job.unfinished:
        return None
    return WAITING_S if job.waiting else running_s


def state_changed(job: AppJob | None, every_s: float | None) -> bool:
    """Return whether a job has started or ended since the page was drawn.

    ``every_s``: see :func:`poll_interval`.
    """
    if every_s is None:
        return False
    return job is None or not job.unfinished or (job.running and every_s == WAITING_S)


def progress_text(job: AppJob) -> str:
    """Progress: what runs, the estimated time left; before the start, the place in line.

    Until the work itself shows how fast it goes, what it was expected to take says what is left.
    Of a cancelled job: how far it had come.
    """
    if job.status == "cancelled":
        return f"Cancelled at {100 * job.fraction:.0f} %: these are intermediate figures, not a result."
    if job.waiting:
        nouns = [KINDS.find(other.kind).noun for other in jobs().running_before(job)]
        return _waiting_text(nouns, jobs().count_ahead(job), jobs().wait_s(job))
    if job.loads:
        return "Starting a process and loading its libraries: a few seconds"
    share = f"{100 * job.fraction:.0f} %"
    parts, left_s = ["" if share == "0 %" else share, job.text], job.remaining_s
    if left_s is None and job.expected_s and not job.open_ended:
        usual_s = jobs().pace(job.kind) * job.expected_s - job.elapsed_s
        left_s = usual_s if usual_s >= LONG_S else None
    if left_s is not None:
        parts.append(f"about {duration(left_s)} left")
    elif job.elapsed_s >= LONG_S:
        parts.append(f"{duration(job.elapsed_s)} so far")
    return " · ".join(p for p in parts if p)


def time_text(state: AppState, kind: str, options: Mapping[str, Any]) -> str:
    """About how long a job takes that is not started yet."""
    return about_text(jobs().pace(kind) * expected_s(kind, state.scenario, options))


def _waiting_text(running: Sequence[str], ahead: int, seconds: float | None) -> str:
    """Say what is ``running``, the place in line behind ``ahead`` others, and the expected start.

    >>> _waiting_text(["plan", "sweep", "plan"], 2, 38.4)
    'Waiting for other work (plan, sweep): 3rd in line, starts in about 38 s'
    >>> _waiting_text([], 0, None)
    'Waiting: 1st in line, start time not known yet'
    """
    begin = f"Waiting for other work ({', '.join(dict.fromkeys(running))})" if running else "Waiting"
    start = "start time not known yet"
    if seconds is not None:
        start = f"starts in about {duration(max(1.0, round(seconds)))}"
    return f"{begin}: {ordinal(ahead + 1)} in line, {start}"


_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


def start(
    state: AppState, kind: str, options: Mapping[str, Any] = _NO_OPTIONS, fingerprint: str = ""
) -> None:
    """Start a job on the present scenario; a refusal becomes the session's notice.

    ``fingerprint`` names what the result depends on; by default it is that of the scenario's parts.
    """
    spec = {
        "scenario": scenario_to_mapping(state.scenario),
        "uploads": str(state.uploads.folder),
        **options,
    }
    mark = fingerprint or state.fingerprint(kind)
    old = state.jobs.get(kind)
    state.live.stop(jobs())  # a quick answer makes room for what was asked for by a button
    try:
        usual_s = expected_s(kind, state.scenario, options)
        job = jobs().start(kind, spec, mark, state.uploads, owner_key(), usual_s)
    except JobError as error:
        state.notice = str(error)
        return
    if old and state.collected_jobs.get(kind) != old:
        jobs().discard(old)
    state.jobs[kind], state.notice = job.id, ""
    state.job_scenarios[kind] = state.scenario


ResultsByFingerprint = dict[tuple[str, str], Result]
"""Results by kind and fingerprint."""


def show_or_start(
    state: AppState, kind: str, options: Mapping[str, Any], mark: str, seen: ResultsByFingerprint
) -> None:
    """Show the result of a question again, or start the job that makes it, unless it was started last."""
    if last := state.results.get(kind):
        seen[kind, last.fingerprint] = last
    job = current_job(state, kind)
    if (kind, mark) in seen:
        state.results[kind] = seen[kind, mark]
    elif job is None or job.fingerprint != mark:
        if job is not None and job.unfinished:
            job.cancel()
        start(state, kind, options, mark)


def collect(state: AppState) -> bool:
    """Take in the results of finished jobs, or of cancelled ones that left one; whether any is new."""
    fresh = False
    for kind, job_id in state.jobs.items():
        job, before = jobs().get(job_id), state.collected_jobs.get(kind)
        if job is None:
            continue
        job.mark_watched()
        if not job.unfinished and job.result is not None and before != job_id:
            jobs().discard(before)
            data, last, asked = (
                KINDS.find(kind).read(job.result),
                state.results.get(kind),
                state.job_scenarios.get(kind),
            )
            name = "" if asked is None else run_name(None if last is None else last.scenario, asked)
            if isinstance(data, SimulatedRun):
                name = state.runs.add(job.fingerprint, job_id, data).name
            state.results[kind] = Result(job.fingerprint, data, job_id, asked, name)
            state.collected_jobs[kind] = job_id
            keep_by_itself(state, data, name)
            fresh = True
    return fresh


def current_job(state: AppState, kind: str) -> AppJob | None:
    """Return the latest job of that kind, while it is known."""
    return jobs().get(state.jobs.get(kind))
