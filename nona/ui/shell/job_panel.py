"""Long jobs on a page: started, watched, cancelled; their progress in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import streamlit as st

from nona.errors import JobError
from nona.report.simulations.scenario_diff import change_text
from nona.scenario.file import scenario_to_mapping
from nona.ui.jobs.kinds import KINDS
from nona.ui.jobs.registry import Job
from nona.ui.session.state import AppState, Result
from nona.ui.session.workspace import jobs, whose
from nona.ui.widgets.fields import plain

WAITING_S = 1.0  # between two looks at a job that waits


def beat(job: Job | None, running_s: float) -> float | None:
    """Seconds between two looks at a job: ``running_s`` while it runs; ``None`` once it has ended."""
    if job is None or not job.unfinished:
        return None
    return WAITING_S if job.waiting else running_s


def moved_on(job: Job | None, every_s: float | None) -> bool:
    """Return whether a job has started or ended since the page was drawn; ``every_s``: see :func:`beat`."""
    if every_s is None:
        return False
    return job is None or not job.unfinished or (job.running and every_s == WAITING_S)


def progress_text(job: Job, *counts: str) -> str:
    """Progress: what runs, ``counts``, the estimated time left; before the start, the place in line.

    Of a cancelled job: how far it had come.
    """
    if job.status == "cancelled":
        return f"Cancelled at {100 * job.fraction:.0f} %: this is what was known then, not a result."
    if job.waiting:
        return _waiting_text(jobs().ahead(job), jobs().wait_s(job))
    parts = [f"{100 * job.fraction:.0f} %", job.text, *counts]
    if job.remaining_s is not None:
        parts.append(f"about {duration(job.remaining_s)} left")
    return " · ".join(p for p in parts if p)


def _waiting_text(ahead: int, seconds: float | None) -> str:
    """The place in line behind ``ahead`` others, and the expected start.

    >>> _waiting_text(2, 38.4)
    'Waiting: 3rd in line, starts in about 38 s'
    >>> _waiting_text(0, None)
    'Waiting: 1st in line, start time not known yet'
    """
    start = "start time not known yet"
    if seconds is not None:
        start = f"starts in about {duration(max(1.0, round(seconds)))}"
    return f"Waiting: {_ordinal(ahead + 1)} in line, {start}"


def _ordinal(number: int) -> str:
    """A place as English writes it.

    >>> [_ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '113th']
    """
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def duration(seconds: float) -> str:
    """A wall-clock time as text, without false precision.

    >>> duration(0.4), duration(75), duration(4000)
    ('0.4 s', '75 s', '67 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


Live = Callable[[Mapping[str, Any]], None]
POLL_S = 0.6
T = TypeVar("T")
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
        job = jobs().start(kind, spec, mark, state.uploads, whose())
    except JobError as error:
        state.notice = str(error)
        return
    if old and state.taken.get(kind) != old:
        jobs().discard(old)
    state.jobs[kind], state.notice = job.id, ""
    state.asked[kind] = state.scenario


def collect(state: AppState) -> bool:
    """Take in the results of finished jobs, or of cancelled ones that left one; whether any is new."""
    fresh = False
    for kind, job_id in state.jobs.items():
        job, before = jobs().get(job_id), state.taken.get(kind)
        if job is None:
            continue
        job.touch()
        if not job.unfinished and job.result is not None and before != job_id:
            jobs().discard(before)
            data = KINDS.find(kind).read(job.result)
            state.results[kind] = Result(job.fingerprint, data, job_id, state.asked.get(kind))
            state.taken[kind] = job_id
            if kind == "simulate":
                state.runs.add(job.fingerprint, job_id, data)
            fresh = True
    return fresh


def current_job(state: AppState, kind: str) -> Job | None:
    """The latest job of that kind, while it is known."""
    return jobs().get(state.jobs.get(kind))


def cut_off(state: AppState, kind: str) -> Job | None:
    """The job on the scenario as it is that was cancelled: it left a picture, and no result."""
    job = current_job(state, kind)
    if job is None or job.status != "cancelled" or job.result is not None or not job.live:
        return None
    return job if job.fingerprint.startswith(state.fingerprint(kind)) else None


def job_panel(
    state: AppState,
    kind: str,
    run_label: str,
    live: Live | None = None,
    options: Mapping[str, Any] = _NO_OPTIONS,
    fingerprint: str = "",
    done: str = "",
) -> None:
    """The buttons and the progress of one kind of job; ``options`` and ``fingerprint`` are for :func:`start`.

    Work that depends on no scenario starts whatever is wrong with it; ``done`` says that it need not be
    started, and why.
    """
    job_buttons(state, kind, run_label, options, fingerprint, done)
    every_s = beat(current_job(state, kind), POLL_S)
    with st.container(key=f"progress-{kind}"):  # a place of its own: what follows must not move with it
        st.fragment(_progress, run_every=every_s)(state, kind, every_s, live)


def job_buttons(
    state: AppState,
    kind: str,
    run_label: str,
    options: Mapping[str, Any] = _NO_OPTIONS,
    fingerprint: str = "",
    done: str = "",
) -> bool:
    """The buttons that start and cancel one kind of job, and what prevents it; whether it waits or runs."""
    job = current_job(state, kind)
    running = job is not None and job.unfinished
    problem = state.problem() if KINDS.find(kind).parts else ""
    with st.container(horizontal=True):
        st.button(
            run_label,
            type="primary",
            icon=":material/play_arrow:",
            disabled=running or bool(problem) or bool(done),
            help=done or None,
            on_click=start,
            args=(state, kind, options, fingerprint),
            key=f"run-{kind}",
        )
        if job is not None and running:
            st.button(
                f"Cancel {KINDS.find(kind).noun}",
                icon=":material/stop_circle:",
                on_click=job.cancel,
                key=f"cancel-{kind}",
            )
    if problem:
        st.warning(plain(problem), icon=":material/edit_note:")
    if state.notice:
        st.warning(plain(state.notice), icon=":material/hourglass_top:")
    return running


def _progress(state: AppState, kind: str, every_s: float | None, live: Live | None) -> None:
    job = current_job(state, kind)
    if job is None:
        return
    job.touch()
    if moved_on(job, every_s):
        st.rerun()
    if job.unfinished:
        st.progress(job.fraction, text=plain(progress_text(job)))
        if live is not None and job.live:
            live(job.live)
    elif job.status == "failed":
        st.error(plain(job.error), icon=":material/error:")
    elif job.status == "cancelled" and job.result is None:
        st.info(f"The {KINDS.find(kind).noun} {_cancelled(job)}", icon=":material/cancel:")


def _cancelled(job: Job) -> str:
    return f"was cancelled {'before it started' if not job.started else f'after {duration(job.elapsed_s)}'}."


def ended_note(job: Job | None, what: str, advice: str) -> None:
    """Explain the failure of a job; ``what`` names the job, ``advice`` says what makes it shorter.

    What a cancelled job leaves says itself that it is not all.
    """
    if job is None or job.status == "done":
        return
    if job.status == "failed":
        st.error(plain(job.error), icon=":material/error:")
        st.caption("Nothing was lost: change what the line above names, and run again.")
    elif job.status == "cancelled" and job.result is None:
        st.info(f"{what} {_cancelled(job)} {advice if job.started else ''}", icon=":material/cancel:")


def live_area(
    state: AppState,
    kind: str,
    every_s: float | None,
    live: Callable[[Job], None],
    advice: str,
) -> bool:
    """Draw the run of ``kind`` while it runs, its end otherwise; whether it is over.

    To be called in a fragment that reruns ``every_s`` (:func:`~nona.ui.shell.job_panel.beat`). ``live`` draws
    what has come so far, which stays drawn where a run was cancelled and left no result; ``advice`` stands
    beside a run that failed.
    """
    job = current_job(state, kind)
    if job is not None:
        job.touch()
    if moved_on(job, every_s):
        st.rerun()
    if job is not None and job.unfinished:
        if job.live:
            live(job)
        else:
            st.progress(job.fraction, text=plain(progress_text(job)))
        return False
    ended_note(job, "The run", advice)
    if (cancelled := cut_off(state, kind)) is not None:
        live(cancelled)
    return True


def no_result_text(state: AppState, kind: str) -> str:
    """Explain why there is no result, and how to get one."""
    job = current_job(state, kind)
    if job is not None and job.unfinished:
        return "The result appears here once the policies have run."
    if cut_off(state, kind) is not None:
        return "A cancelled run leaves only what is shown above: run the policies again for a result."
    return "Nothing has been run yet: run the policies above."


def result_to_show(state: AppState, kind: str, of: type[T], fingerprint: str = "") -> T | None:
    """The last result of ``kind``; one of another scenario is a line with a switch, which brings it back.

    One of this scenario as it was before a change has a warning (:func:`stale_note`). While the next one is
    made there is neither.
    """
    outcome, job = state.held(kind, of), current_job(state, kind)
    runs = job is not None and job.unfinished
    if outcome is None or runs or not state.is_stale(kind, fingerprint):
        return outcome
    result, noun = state.results[kind], KINDS.find(kind).noun
    if not result.of or result.of == state.scenario.name:
        stale_note(state, kind, fingerprint)
        return outcome
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"of-another-{kind}"):
        differs = _what_changed(state, kind)
        st.markdown(
            f"The last {noun} is of **{plain(result.of)}**, not of **{plain(state.scenario.name)}**"
            f"{f': {plain(differs)}' if differs else ''}.",
            width="stretch",
        )
        key = f"earlier-{kind}-{result.job_id}"
        return outcome if st.toggle("Show it", key=key, persist_state="session") else None


def _what_changed(state: AppState, kind: str) -> str:
    """Describe the changes since the scenario of the last result of ``kind``; empty if that is unknown."""
    origin = state.results[kind].scenario
    return change_text(origin, state.scenario, KINDS.find(kind).parts) if origin is not None else ""


def stale_note(state: AppState, kind: str, fingerprint: str = "") -> None:
    """A warning where the result to show belongs to an earlier scenario, or to another question on it.

    ``fingerprint`` is that of the present question, where it is more than the scenario's.
    """
    result = state.results.get(kind)
    scenario, noun = state.fingerprint(kind), KINDS.find(kind).noun
    if result is None or not state.is_stale(kind, fingerprint):
        return
    same = bool(fingerprint) and result.fingerprint.startswith(scenario)
    what, then = (
        ("question", "answer the present one") if same else ("scenario", "see the scenario as it is now")
    )
    differs = "" if same else _what_changed(state, kind)
    st.warning(
        f"The {what} has changed since this {noun} was made{f' ({plain(differs)})' if differs else ''}; run "
        f"it again to {then}.",
        icon=":material/history:",
    )
