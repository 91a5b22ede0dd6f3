"""Why the network matters, in one picture: made once for the server, shown to every session."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st
from pydantic import Field

from nona.errors import JobError
from nona.report.figures.scheduler_styles import scheduler_style
from nona.results.document import Document, Figure
from nona.results.simulation.story import Story, StoryLoad
from nona.study.network_story import STRATEGIES
from nona.ui.jobs.registry import JobRegistry
from nona.ui.session.workspace import jobs
from nona.ui.tasks.story import LOADS
from nona.ui.widgets.component import declare
from nona.ui.widgets.fields import plain

KEY = "network-story"
POLL_S = 0.7
TRIES = 3  # in all, where its worker dies: it is the same for everybody, so nobody can ask for it again
HIGHEST_MS = 60.0  # of the curve's axis: beyond it lies only what has all but stopped
_component = declare(Path(__file__).parent, "story", "story", "curve")
TOLD = {
    "local": ("One server", "All four tasks run on one server, one after the other."),
    "spread": ("Split blindly", "Tasks 2 and 3 go to other servers, whatever the link costs."),
    "nona": ("Split by Nona", "Only tasks that gain from it are sent away, given the link's load."),
}


class StrategyLook(Document):
    """A strategy's words, colour and symbol."""

    title: str
    about: str
    colour: str
    symbol: str


class StoryView(Document):
    """What is sent to the browser; ``load`` is where the slider starts, ``of`` how many
    points there will be."""

    points: tuple[StoryLoad, ...] = ()
    limit: Figure = None
    order: tuple[str, ...] = ()
    looks: Mapping[str, StrategyLook] = Field(default_factory=dict)
    of: int = 0
    load: float = 0.0
    longest_ms: float = 0.0
    most_ms: float = 0.0
    finding: str = ""
    alt: str = ""


@dataclass
class Kept:
    """The story so far, for all sessions of this server.

    ``job`` computes the rest; ``seen`` is what it told last; ``failures`` counts the jobs that failed.
    """

    told: Story | None = None
    seen: Mapping[str, Any] | None = None
    complete: bool = False
    job: str | None = None
    error: str = ""
    failures: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def refresh(self, registry: JobRegistry) -> None:
        """Take in the job's results; start a job if there is none, or if the last one failed (``TRIES``)."""
        with self.lock:
            if self.complete:
                return
            job = registry.get(self.job)
            if job is None or job.status == "cancelled":
                self._start(registry)
                return
            job.touch()
            so_far = job.result or job.live
            if so_far and so_far is not self.seen:
                self.told, self.seen = Story.from_json(so_far), so_far
            self.complete, self.error = job.result is not None, job.error
            if self.complete:
                registry.discard(job.id)
            elif job.status == "failed" and self.failures + 1 < TRIES:
                self.failures += 1
                registry.discard(job.id)
                self._start(registry)

    def _start(self, registry: JobRegistry) -> None:
        try:
            self.error = ""
            self.job = registry.start("story", {}).id
        except JobError as error:  # too many wait: the next look tries again
            self.error = str(error)


@st.cache_resource
def kept() -> Kept:
    """The story of this server."""
    return Kept()


def network_story() -> None:
    """Show the story; poll while it is being computed.

    The looking ends with the next run of the page: to run it again for that alone would shut what its
    reader has just opened.
    """
    kept().refresh(jobs())
    st.fragment(_story, run_every=None if kept().complete else POLL_S)()


def _story() -> None:
    story = kept()
    story.refresh(jobs())
    _component(key=KEY, data=story_view(story.told).to_json(), on_load_change=lambda: None)
    if story.error and not story.told:
        st.warning(plain(story.error), icon=":material/hourglass_top:")


def chosen_load() -> float:
    """The link load on this session's slider."""
    return float((st.session_state.get(KEY) or {}).get("load") or 0.0)


def story_view(told: Story | None) -> StoryView:
    """The points so far, looks and titles, the range of the axes; without points nothing is drawn."""
    if told is None or not told.points:
        return StoryView()
    first = told.points[0].runs
    return StoryView(
        points=told.points,
        of=max(len(LOADS), len(told.points)),
        limit=told.limit,
        order=STRATEGIES,
        looks={name: _look(name) for name in STRATEGIES},
        longest_ms=max(first[name].jct_ms for name in STRATEGIES),
        most_ms=HIGHEST_MS,
        finding=finding(told.limit),
        alt=f"Mean completion time over the load of the link. {finding(told.limit)}",
    )


def _look(name: str) -> StrategyLook:
    (title, about), style = TOLD[name], scheduler_style(name)
    return StrategyLook(title=title, about=about, colour=style.colour, symbol=style.symbol)


def finding(limit: float | None) -> str:
    """What the curve shows: until which link load splitting pays.

    >>> finding(0.798)
    'By the formula, splitting pays until others take 80 % of the link'
    """
    if limit is None:
        return "By the formula, splitting pays at every load of the link"
    return f"By the formula, splitting pays until others take {100 * limit:.0f} % of the link"
