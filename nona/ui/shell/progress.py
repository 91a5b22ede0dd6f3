"""A job's progress in words: its place in line and expected start, or what runs and how long it takes."""

from __future__ import annotations

from nona.ui.jobs.job import Job
from nona.ui.session.workspace import jobs

WAITING_S = 1.0  # between two looks at a job that waits


def beat(job: Job | None, running_s: float) -> float | None:
    """Seconds between two looks at a job: ``running_s`` while it runs; ``None`` once it has ended."""
    if job is None or not job.unfinished:
        return None
    return WAITING_S if job.waiting else running_s


def moved_on(job: Job | None, every_s: float | None) -> bool:
    """Whether a job has started or ended since the page that looks ``every_s`` (:func:`beat`) was drawn."""
    if every_s is None:
        return False
    return job is None or not job.unfinished or (job.running and every_s == WAITING_S)


def progress_text(job: Job, *counts: str) -> str:
    """Progress: what runs, ``counts``, the estimated time left; before the start, the place in line.

    Of a cancelled job: how far it had come.
    """
    if job.status == "cancelled":
        return f"Cancelled at {100 * job.fraction:.0f} %; this is what was known then, and no result."
    if job.waiting:
        return waiting_text(jobs().ahead(job), jobs().wait_s(job))
    parts = [f"{100 * job.fraction:.0f} %", job.text, *counts]
    if job.remaining_s is not None:
        parts.append(f"about {duration(job.remaining_s)} left")
    return " · ".join(p for p in parts if p)


def waiting_text(ahead: int, seconds: float | None) -> str:
    """The place in line behind ``ahead`` others, and the expected start.

    >>> waiting_text(2, 38.4)
    'Waiting: 3rd in line, starts in about 38 s'
    >>> waiting_text(0, None)
    'Waiting: 1st in line, the time of its start is not known yet'
    """
    start = "the time of its start is not known yet"
    if seconds is not None:
        start = f"starts in about {duration(max(1.0, round(seconds)))}"
    return f"Waiting: {ordinal(ahead + 1)} in line, {start}"


def ordinal(number: int) -> str:
    """A place as English writes it.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 113)]
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
