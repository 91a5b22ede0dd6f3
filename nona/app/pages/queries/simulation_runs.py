"""The runs of this session: live charts, the finding, runs so far, the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from nona.app.jobs.registry import AppJob
from nona.app.pages.run_page import earlier_key
from nona.app.pages.runs import ToSave
from nona.app.session.state import AppState, KeptRun, Result
from nona.app.widgets.components import declare
from nona.app.widgets.fields import one_of, plain
from nona.app.widgets.results import picture, show_finding, table
from nona.core.document import Document
from nona.core.figures import scheduler_style
from nona.core.text import Finding, join_words, verb
from nona.queries.chart_data import LiveLines, LiveRun
from nona.queries.report.comparison import baseline, baseline_headline, changes, pairing
from nona.queries.report.figures import dumbbell_figure
from nona.queries.report.findings import headline, live_headline
from nona.queries.report.live import LOWEST_S, PER_OCTAVE, TITLES, counts_text, live_alts, measured
from nona.queries.report.scenario_diff import change_text
from nona.queries.results import Measure

_PIECES = ("axes", "marks", "panels", "livechart")  # in this order they make one module
SO_FAR = "Lines over time show the first replication; all other charts show all measured jobs so far."
MOST_DRAWN = 8  # schedulers: more lines cannot be told apart, and each costs the browser
_component = declare("livechart", *_PIECES, why="plotly redraws four charts too slowly")


class LineStyle(Document):
    """The look of a scheduler's line, in plotly's words."""

    colour: str
    dash: str
    symbol: str


class LiveCharts(Document):
    """The data for the browser: the figures of a run, each scheduler's look, the charts' labels.

    ``low_s`` is the left end of the first bin of completion times, ``per_octave`` how many bins double
    it; ``titles`` and ``alts`` belong to the four charts.
    """

    series: LiveLines
    schedulers: tuple[str, ...]
    slo: tuple[tuple[str, float], ...]
    styles: Mapping[str, LineStyle]
    low_s: float
    per_octave: int
    running: bool
    titles: tuple[str, ...]
    alts: tuple[str, ...]
    note: str


def chart_data(live: LiveRun, running: bool, note: str = "") -> LiveCharts:
    """Return the charts of a job's ``live``; ``note`` stands below them.

    At most :data:`MOST_DRAWN` schedulers are drawn, the first of the scenario; the note names the others.
    """
    drawn = live.schedulers[:MOST_DRAWN]
    series = {name: line for name, line in live.series.items() if name in drawn}
    notes = (note, _not_drawn(live.schedulers, drawn))
    return LiveCharts(
        series=series,
        schedulers=drawn,
        slo=live.slo,
        styles={name: _line_style(name) for name in drawn},
        low_s=LOWEST_S,
        per_octave=PER_OCTAVE,
        running=running,
        titles=TITLES,
        alts=tuple(live_alts(series)),
        note=" ".join(n for n in notes if n),
    )


def _not_drawn(schedulers: Sequence[str], drawn: Sequence[str]) -> str:
    """Name the schedulers that the charts leave out, in a sentence; empty where all are drawn.

    >>> _not_drawn([*"abcdefghij"], [*"abcdefgh"])
    'More than 8 lines cannot be told apart: i and j are only in the tables of the result.'
    """
    others = [name for name in schedulers if name not in drawn]
    if not others:
        return ""
    where = f"{join_words(others)} {verb(others)} only in the tables of the result"
    return f"More than {MOST_DRAWN} lines cannot be told apart: {where}."


def _line_style(name: str) -> LineStyle:
    style = scheduler_style(name)
    return LineStyle(colour=style.colour, dash=style.dash, symbol=style.symbol)


def live_charts(key: str, charts: LiveCharts) -> None:
    """Draw the four charts of a run that goes on."""
    _component(key=key, data=charts.to_json())


KIND = "simulate"
RUN = "Run the simulation"


def shown_run(state: AppState) -> KeptRun | None:
    """Return the run whose result is on the page, while it is kept."""
    result = state.results.get(KIND)
    return None if result is None else state.runs.of_job(result.job_id)


def show_run(state: AppState, number: int | None, instead_of: int) -> None:
    """Put a kept run's result on the page, ``instead_of`` the one that the choice was offered beside.

    A page that polls also sends the values of fields that were on it a moment ago. To Streamlit the value
    of a field that is gone is a change, so that its callback comes once more, after a newer run has come to
    be shown: such a late message is no choice.
    """
    shown, run = shown_run(state), state.runs.find(number)
    if shown is None or shown.number != instead_of:
        return
    if run is not None:
        state.results[KIND] = Result(run.fingerprint, run.data, run.job_id)
        st.session_state[earlier_key(KIND, run.job_id)] = True  # also where it is of another scenario


def run_note(state: AppState, shown: KeptRun, changes: str) -> None:
    """Explain a run of the scenario as it was before ``changes``, and the next step."""
    then = f"The scenario has changed since: {changes}." if changes else "The scenario has changed since."
    mark = state.fingerprint(KIND)
    same = next((k for k in reversed(state.runs.kept) if k.fingerprint == mark), None)
    if same is not None:
        now = f"Run {same.number} is of the scenario as it is now: choose it under *Run shown*."
    else:
        now = (
            f"*{RUN}* simulates the scenario as it is now, as run {state.runs.made + 1}; run {shown.number} "
            "can then be chosen under *Run shown*."
        )
    st.warning(f"Run {shown.number} is shown. {plain(then)} {now}", icon=":material/history:")


def _restore_scenario(state: AppState, number: int) -> None:
    run = state.runs.find(number)
    if run is not None:
        state.adopt(run.data.scenario)


def _pin_run(state: AppState, number: int | None) -> None:
    state.runs.pinned = number


def runs_bar(state: AppState, shown: KeptRun) -> None:
    """Show the choice among kept runs, the baseline and the way back to a run's scenario."""
    runs = {run.number: run for run in reversed(state.runs.kept)}
    with st.container(horizontal=True, vertical_alignment="bottom", key="runs-bar"):
        if len(runs) > 1:
            _choose(state, runs, shown)
        pinned = state.runs.pinned == shown.number
        st.button(
            "Unpin the baseline" if pinned else "Pin as baseline",
            icon=":material/keep_off:" if pinned else ":material/keep:",
            help="Later runs are compared with this run, with the interval of each difference.",
            on_click=_pin_run,
            args=(state, None if pinned else shown.number),
            key="pin-run",
        )
        if state.is_stale(KIND):
            st.button(
                "Restore its scenario",
                icon=":material/settings_backup_restore:",
                help="Sets every page back to the scenario of this run.",
                on_click=_restore_scenario,
                args=(state, shown.number),
                key="restore-run",
            )


def to_save(run: KeptRun) -> ToSave:
    """Return what is saved of a run."""
    return ToSave(str(run.number), run.name, run.data)


def _choose(state: AppState, runs: dict[int, KeptRun], shown: KeptRun) -> None:
    numbers = list(runs)
    key = f"run-shown-{numbers[0]}-{shown.number}"  # a new key with every run, so that it says what is shown

    def title(number: int) -> str:
        mark = " (baseline)" if number == state.runs.pinned else ""
        return f"{runs[number].title}{mark}, {runs[number].made[-9:]}"

    def choose() -> None:
        show_run(state, st.session_state[key], shown.number)

    st.selectbox(
        "Run shown",
        numbers,
        numbers.index(shown.number),
        format_func=title,
        key=key,
        on_change=choose,
        width=420,
        help="The last runs of this session, named by what changed since the previous run.",
    )


def simulation_live(job: AppJob) -> None:
    """Show the jobs of a run so far."""
    live = LiveRun.from_json(job.live) if job.live else LiveRun(schedulers=())
    if job.status == "cancelled":
        charts = chart_data(live, False, note=counts_text(live))
        _draw(Finding("Not finished: the charts show the jobs so far."), charts, key="cancelled")
        return
    _draw(live_headline(live), chart_data(live, True, note=f"{_counts(live)}{SO_FAR}"))


def draw_run(run: KeptRun) -> None:
    """Show the charts of a finished run in the form of the live ones."""
    data = run.data
    schedulers = data.report.schedulers
    live = data.live.model_copy(update={"series": measured(data.live.series, schedulers)})
    _draw(
        headline(schedulers, data.differences, data.off),
        chart_data(live, False, note=f"{run.mark}."),
        run,
    )


def _draw(finding: Finding, charts: LiveCharts, run: KeptRun | None = None, key: str = "live") -> None:
    notes = () if run is None else (f"Run {run.title} · version {run.data.about.hash}",)
    show_finding("finding" if key == "live" else f"finding-{key}", finding, *notes)
    live_charts(f"{key}-charts", charts)


def _counts(live: LiveRun) -> str:
    if not live.jobs:
        return ""
    of = f" of {live.of:,}" if live.of else ""
    return f"{live.jobs:,}{of} jobs. "


MEASURES: Mapping[str, Measure] = {
    "Mean JCT": "jct_s",
    "SLO hits": "slo_hit_rate",
    "Executors busy": "compute",
    "Link busy": "network",
}


def baseline_panel(state: AppState, new: KeptRun) -> None:
    """Nothing without a baseline; a hint while the baseline itself is shown."""
    old = state.runs.baseline
    if old is None:
        return
    with st.container(border=True, key="baseline"):
        if old.number == new.number:
            st.caption(
                "This run is the baseline. Change the scenario and run again: both runs then appear here "
                "side by side."
            )
            return
        _compare_runs(old, new)


def _compare_runs(old: KeptRun, new: KeptRun) -> None:
    match = pairing(old.data.scenario, new.data.scenario, (_warmup(old), _warmup(new)))
    by_scheduler = changes(old.data.means, new.data.means, match.paired)
    what = change_text(old.data.scenario, new.data.scenario) or "Nothing changed"
    st.markdown(f"##### {plain(baseline_headline(what[0].upper() + what[1:], by_scheduler))}")
    if not by_scheduler:
        st.caption("The two runs have no scheduler in common: choose one of the baseline's again.")
        return
    hint = "The measure to compare. Hollow grey: the baseline. Filled: this run. Lines: 95 % intervals."
    measure = one_of("Measure", list(MEASURES), "baseline-measure", hint)
    picture(
        dumbbell_figure(by_scheduler, MEASURES[measure]),
        key="baseline-chart",
        alt=f"{measure} of each scheduler in the baseline and in this run, with 95 % intervals",
    )
    rows = baseline(by_scheduler, MEASURES[measure])
    table(rows, "baseline-changes", "Baseline, this run and change of every scheduler", "against_baseline")
    single = min(len(m.jct_s) for m in (*old.data.means.values(), *new.data.means.values())) < 2
    paired = match.text(old.data.means, new.data.means)
    few = " One replication gives no interval: run 2 or more." if single else ""
    st.caption(
        plain(
            f"{paired}{few} Baseline: run {old.title}. * the 95 % interval of the change excludes 0; "
            "each interval holds separately."
        )
    )


def _warmup(run: KeptRun) -> int | None:
    warmup = run.data.report.warmup
    return None if warmup is None else warmup.jobs
