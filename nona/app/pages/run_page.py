"""A run on a page, declared once: its button, its wait, its live part, its answer, its tabs and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import streamlit as st

from nona.app.jobs.kinds import KINDS
from nona.app.jobs.registry import AppJob
from nona.app.layout.equivalents import equivalent
from nona.app.layout.job_panel import (
    current_job,
    poll_interval,
    progress_text,
    start,
    state_changed,
    time_text,
)
from nona.app.pages.runs import ToSave, save_popover
from nona.app.session.kept import choose
from nona.app.session.page_list import page_file
from nona.app.session.state import AppState
from nona.app.tasks.context import MODELS, PLACEMENT
from nona.app.widgets.downloads import Files, download_menu
from nona.app.widgets.fields import button, plain, summary_bar
from nona.app.widgets.terms import guide_link
from nona.core.document import Document, RunResult
from nona.core.units import duration
from nona.queries.report.scenario_diff import change_text
from nona.scenario.file import scenario_hash
from nona.scenario.schema import Scenario

D = TypeVar("D")


@dataclass(frozen=True, kw_only=True)
class PageRun(Generic[D]):
    """A run of one kind of job, from its button to its answer.

    ``kind``, ``label``, ``hint``: of the job, and of its button.
    ``of``, ``answer``: the type of its result, and what draws it.
    ``before``: what stands in its place while there is none: a text, or what draws it.
    ``beside``: draws a field before the button, in its row.
    ``live``: draws what has come so far; it stays drawn where a run was cancelled and left no result.
    ``at_once``: ``live`` draws something even before the first report.
    ``also_live``: draws what is looked at more seldom, in a fragment of its own.
    ``asked``, ``version``: what is asked beyond the scenario, and the version of the whole question; by
        default it is made of what is asked and of the scenario's parts that the kind depends on.
    ``stale``: whether the last result is of another question; by default by its version.
    ``shown``: finds the result to show and says what is amiss with it; by default it is the last one.
    ``command``, ``words``: of the command line that does the same; ``command`` is empty where another run
        names it.
    """

    kind: str
    label: str
    hint: str = ""
    result_type: type[D]
    answer: Callable[[AppState, D], object]
    before: str | Callable[[], object] = ""
    beside: Callable[[], object] | None = None
    live: Callable[[AppJob], object] | None = None
    at_once: bool = False
    also_live: Callable[[AppState], object] | None = None
    request: Document | None = None
    version: str = ""
    stale: bool | None = None
    shown: Callable[[AppState], D | None] | None = None
    advice: str = ""
    refused: str = ""
    poll_s: float = 0.6
    command: str = ""
    words: Sequence[str] = ()

    def version_in(self, state: AppState) -> str:
        """Return the version of the question as it stands."""
        mark = state.fingerprint(self.kind)
        return self.version or (mark if self.request is None else f"{mark} {self.request}")


@dataclass(frozen=True)
class Tab(Generic[D]):
    """A tab's drawing: of a result, or also without one."""

    draw: Callable[[AppState, D], object] | None = None
    always: Callable[[AppState, D | None], object] | None = None


@dataclass(frozen=True, kw_only=True)
class RunPage(PageRun[D]):
    """A page around a run: settings that fold into a line, the run, its tabs, and how to keep it.

    ``summary`` are the parts of that line, of the scenario that runs while one does; ``fields`` draws the
    settings. ``save`` says what is saved of a
    result, by default the result itself. ``evidence``: a tab of the Evidence page, and what says in a line
    how far its study supports a result; empty where it does not fit.
    """

    summary: Callable[[Scenario], Sequence[str]]
    fields: Callable[[AppState], object]
    tabs: Mapping[str, Tab[D]] = field(default_factory=dict)
    files: Callable[[AppState, D], Files]
    save: Callable[[D], ToSave] | None = None
    guide: tuple[str, str]
    evidence: tuple[str, Callable[[AppState, D], str]] | None = None


def run_page(state: AppState, page: RunPage[D]) -> None:
    """Draw the whole page."""
    job_id = state.jobs.get(page.kind)
    line = [*page.summary(_run_scenario(state, page.kind)), _takes(state, page)]
    settings = summary_bar(f"{page.kind}-controls", line, job_id, lambda: _buttons(state, page))
    with settings:
        page.fields(state)
    data = run_area(state, page)
    with st.container(horizontal=True, key=f"{page.kind}-keep"):
        if data is not None:
            download_menu(page.kind, page.files(state, data))
            save_popover(state, page.save(data) if page.save else _to_save(state, page.kind, data))
            _evidence_line(state, page, data)
        equivalent(state, page.command, *page.words, key=page.kind)
    if data is not None and _runs(state, page.kind):
        st.info("Below: the previous run.", icon=":material/history:")
    names = list(page.tabs)
    for tab, name in zip(st.tabs(names, on_change="rerun", key=f"{page.kind}-tabs"), names, strict=True):
        if tab.open:
            with tab:
                _tab(state, page, page.tabs[name], data)
    guide_link(*page.guide)


def _run_scenario(state: AppState, kind: str) -> Scenario:
    """Return the scenario of whose settings the line tells: while a job runs, that of the job."""
    return state.job_scenarios.get(kind, state.scenario) if _runs(state, kind) else state.scenario


def _to_save(state: AppState, kind: str, data: object) -> ToSave | None:
    if not isinstance(data, RunResult):
        return None
    result = state.results[kind]
    return ToSave(f"{kind}-{result.job_id}", result.name or data.about.name, data)


def _tab(state: AppState, page: RunPage[D], tab: Tab[D], data: D | None) -> None:
    if tab.always is not None:
        tab.always(state, data)
    elif data is not None and tab.draw is not None:
        tab.draw(state, data)
    else:
        with st.container(key=f"{page.kind}-{'awaited' if _runs(state, page.kind) else 'none'}"):
            st.caption(_no_result_text(state, page))


def _no_result_text(state: AppState, page: PageRun[D]) -> str:
    if _runs(state, page.kind):
        return "The result appears here when the run ends."
    if _cut_off(state, page.kind) is not None:
        return "A cancelled run leaves only the figures above: run it again for a result."
    of_this = " of this scenario" if page.kind in state.results else ""
    return f"Nothing has been run{of_this} yet: press “{page.label}” above."


def _runs(state: AppState, kind: str) -> bool:
    job = current_job(state, kind)
    return job is not None and job.unfinished


def run_area(state: AppState, run: PageRun[D]) -> D | None:
    """Draw the button, then the run as it goes on or its answer; return the result that is shown.

    The button of a page stands beside its settings.
    """
    if not isinstance(run, RunPage):
        _buttons(state, run)
    _notice(state)
    data = run.shown(state) if run.shown is not None else _result(state, run)
    job = current_job(state, run.kind)
    with st.container(key=f"{run.kind}-area"):
        notes = st.container()  # always there, so that what is drawn live stays in its place
        every_s = poll_interval(job, run.poll_s)
        if every_s is not None:
            st.fragment(_watch, run_every=every_s)(state, run, every_s)
            if run.also_live is not None:
                run.also_live(state)
        else:
            with notes:
                _ended_note(state, run, job)
            cancelled = _cut_off(state, run.kind)
            if cancelled is not None and run.live is not None:
                with st.expander("The cancelled run so far") if data is not None else st.container():
                    st.caption(progress_text(cancelled))
                    run.live(cancelled)
            if data is not None:
                with st.expander("The answer before the change") if _folds(state, run) else st.container():
                    run.answer(state, data)
            elif not isinstance(run.before, str):
                run.before()
            elif cancelled is None and run.before and not _answers_without(run):
                st.caption(run.before)
    return data


def _answers_without(run: PageRun[D]) -> bool:
    """Return whether the open tab needs no result: it has an answer of its own."""
    tab = run.tabs.get(st.session_state.get(f"{run.kind}-tabs", "")) if isinstance(run, RunPage) else None
    return tab is not None and tab.always is not None


def _takes(state: AppState, run: PageRun[D]) -> str:
    """About how long the run takes; empty while it runs, or cannot be asked for."""
    parts = KINDS.find(run.kind).parts
    if _runs(state, run.kind) or run.refused or (parts and state.problem()):
        return ""
    return time_text(state, run.kind, {} if run.request is None else run.request.to_json())


def _buttons(state: AppState, run: PageRun[D]) -> None:
    kind, job = KINDS.find(run.kind), current_job(state, run.kind)
    running = job is not None and job.unfinished
    problem = state.problem() if kind.parts else ""
    options = {} if run.request is None else run.request.to_json()
    with st.container(horizontal=True, vertical_alignment="center", width="content", key=f"{run.kind}-start"):
        if run.beside is not None:
            run.beside()
        st.button(
            run.label,
            type="primary",
            icon=":material/play_arrow:",
            disabled=running or bool(problem) or bool(run.refused),
            help=run.refused or problem or run.hint or None,
            on_click=start,
            args=(state, run.kind, options, run.version_in(state)),
            key=f"run-{run.kind}",
        )
        if job is not None and running:
            button(f"Cancel {kind.noun}", f"cancel-{run.kind}", job.cancel, icon="stop_circle")
        if not isinstance(run, RunPage) and (takes := _takes(state, run)):
            st.caption(takes, width="content")
        if run.command and not isinstance(run, RunPage):
            equivalent(state, run.command, *run.words, key=run.kind, label="Same search from the shell")


def _notice(state: AppState) -> None:
    if state.notice:
        st.warning(plain(state.notice), icon=":material/hourglass_top:")


def _watch(state: AppState, run: PageRun[D], every_s: float) -> None:
    """Show the run as it goes on; the whole page is drawn anew when it starts or ends."""
    job = current_job(state, run.kind)
    if job is None or state_changed(job, every_s):
        st.rerun()
    job.mark_watched()
    st.progress(job.fraction, text=plain(progress_text(job)))
    if run.live is not None and (job.live or run.at_once):
        run.live(job)


def _of_present(state: AppState, kind: str) -> bool:
    parts, asked = KINDS.find(kind).parts, state.job_scenarios.get(kind)
    return not parts or asked is None or scenario_hash(asked, *parts) == state.fingerprint(kind)


PHASE_ADVICE = {
    MODELS: "The run was still reading and contracting the models; each model needs this only once.",
    PLACEMENT: "The run was still solving the placement. A coarser rule on page Models takes less time; "
    "schedulers without a placement take none.",
}
"""What would have taken less time, by the phase in which a job was cancelled; else the run's own advice."""


def _ended_note(state: AppState, run: PageRun[D], job: AppJob | None) -> None:
    if job is None or job.result is not None or not _of_present(state, run.kind):
        return
    if job.status == "failed":
        st.error(plain(job.error), icon=":material/error:")
        st.caption("Nothing was lost. Change what the message above names, and run again.")
    elif job.status == "cancelled":
        advice = PHASE_ADVICE.get(job.phase, run.advice)
        when = f"after {duration(job.elapsed_s)}. {advice}" if job.started else "before it started."
        noun = KINDS.find(run.kind).noun
        st.info(f"The {noun} was cancelled {when}".strip(), icon=":material/cancel:")


def _cut_off(state: AppState, kind: str) -> AppJob | None:
    """Return the job on the scenario as it is that was cancelled: it left a picture, and no result."""
    job = current_job(state, kind)
    if job is None or job.status != "cancelled" or job.result is not None or not job.live:
        return None
    return job if _of_present(state, kind) else None


def _result(state: AppState, run: PageRun[D]) -> D | None:
    """Return the last result: folded if of another scenario, with a warning if the scenario has changed."""
    data = state.result_of(run.kind, run.result_type)
    if data is None or _runs(state, run.kind) or not _is_stale(state, run):
        return data
    result = state.results[run.kind]
    if result.scenario_name in ("", state.scenario.name):
        _stale_note(state, run, changes_since(state, run.kind))
        return data
    return data if another_is_shown(state, run.kind, result.scenario) else None


MOST_LINE = 150  # letters of what is said of a result of another scenario: one line


def earlier_key(kind: str, job_id: str) -> str:
    """Return the key of the switch that shows a result of another scenario."""
    return f"earlier-{kind}-{job_id}"


def another_is_shown(state: AppState, kind: str, origin: Scenario | None) -> bool:
    """Draw a line with a switch in place of a result of another scenario; whether it is switched on.

    ``origin``: the scenario of the result, where that is known.
    """
    result, job = state.results[kind], KINDS.find(kind)
    with st.container(horizontal=True, vertical_alignment="center", key=f"of-another-{kind}"):
        text = f"The last {job.noun} is of “{result.scenario_name}”, not of “{state.scenario.name}”"
        room = MOST_LINE - len(text)
        changes = "" if origin is None else change_text(origin, state.scenario, job.parts, room)
        st.caption(plain(f"{text}: {changes}." if changes else f"{text}."), width="content")
        return st.toggle("Show it", key=earlier_key(kind, result.job_id), persist_state="session")


def _is_stale(state: AppState, run: PageRun[D]) -> bool:
    return state.is_stale(run.kind, run.version_in(state)) if run.stale is None else run.stale


def _folds(state: AppState, run: PageRun[D]) -> bool:
    """Return whether the answer is of an earlier question, beside a page's own result."""
    return not isinstance(run, RunPage) and run.shown is None and _is_stale(state, run)


def changes_since(state: AppState, kind: str) -> str:
    """Describe the changes since the scenario of the last result of ``kind``; empty if that is unknown."""
    origin = state.results[kind].scenario
    return change_text(origin, state.scenario, KINDS.find(kind).parts) if origin is not None else ""


def _stale_note(state: AppState, run: PageRun[D], changes: str) -> None:
    noun = KINDS.find(run.kind).noun
    what, then = "scenario", "see the scenario as it is now"
    if run.request is not None and state.results[run.kind].fingerprint.startswith(
        state.fingerprint(run.kind)
    ):
        what, then, changes = "question", "answer the present one", ""
    st.warning(
        f"The {what} has changed since this {noun} was made{f' ({plain(changes)})' if changes else ''}; run "
        f"it again to {then}.",
        icon=":material/history:",
    )


def ended_early(seconds: float | None) -> None:
    """Mark a result that a cancelled run left; nothing for a whole one."""
    if seconds is not None:
        st.warning(
            f"Cancelled after {duration(seconds)}: this is the result so far.",
            icon=":material/stop_circle:",
        )


def _evidence_line(state: AppState, page: RunPage[D], data: D) -> None:
    tab, says = page.evidence or ("", None)
    text = says(state, data) if says is not None else ""
    if not text:
        return

    def show() -> None:
        choose(state, "evidence-tabs", tab)
        state.go_to = page_file("evidence")

    hint = "From the study that ships; opens it on page Evidence."
    button(text, "evidence-line", show, icon="fact_check", hint=hint, type="tertiary")
