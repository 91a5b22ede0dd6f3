"""The result of a simulation: its answer, and the tabs below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from nona.app.pages.queries.simulation_runs import baseline_panel, draw_run, runs_bar
from nona.app.pages.run_page import Tab
from nona.app.pages.scenario.cluster import busiest_links_panel
from nona.app.pages.scenario.cluster_drawing import cluster_result
from nona.app.session.state import AppState, KeptRun
from nona.app.widgets.fields import choose_one, plain
from nona.app.widgets.results import chart, table
from nona.core.figures import dots_figure
from nona.core.text import join_words
from nona.core.units import duration, format_time
from nona.models.report import provenance_text
from nona.queries.chart_data import SimulationOutcome, WarmupSeries
from nona.queries.report import batch_steps as batches
from nona.queries.report import closed_loops, stage_loads, tables, uncertainty
from nona.queries.report.advice import scheduler_advice
from nona.queries.report.figures import (
    MOST_JOBS,
    are_rare,
    difference_dots,
    ecdf_figure,
    forest_figure,
    gantt_figure,
    hits_over_time_figure,
    jct_dots,
    jct_over_time_figure,
    parts_figure,
    utilisation_figure,
    warmup_figure,
)
from nona.queries.report.findings import REFERENCE, advice, unsettled_text
from nona.queries.report.report import SimulatedRun, python_decisions
from nona.queries.report.times_off import off_lines
from nona.queries.results import Differences, MeanConfidence, Resources, Schedulers, SimulationReport

_SENTENCES = {
    "compiled": "The compiled engine ran this.",
    "simpy": "The SimPy engine ran this: the compiled engine is still being prepared, or cannot run here.",
}


def engine_text(engine: str, in_python: Sequence[str] = ()) -> str:
    """Name the engine that answered, and the policies that it could not compile.

    >>> engine_text("compiled")
    'The compiled engine ran this.'
    >>> engine_text("compiled", ["mine"])
    'The compiled engine answered; mine cannot be compiled and ran in plain Python, more slowly.'
    >>> engine_text("compiled, simpy")
    'The engines compiled, simpy answered, with equal results for equal runs.'
    """
    if engine not in _SENTENCES:
        return f"The engines {engine} answered, with equal results for equal runs."
    if in_python:
        names = ", ".join(in_python)
        return (
            f"The compiled engine answered; {names} cannot be compiled and ran in plain Python, more slowly."
        )
    return _SENTENCES[engine]


def overload_warnings(schedulers: Schedulers, of: AppState | SimulatedRun) -> None:
    """Schedulers without a steady state, or that ended with a backlog: why, and what to do about it.

    ``of`` has the scenario that was simulated.
    """
    cluster, background = of.scenario.cluster, of.scenario.background
    busy = Resources(compute=background.compute.utilization, network=background.network.utilization)
    servers = sum(group.count for group in cluster.servers)
    over = [
        f"**{plain(name)} is overloaded**: {plain(s.state_reason)} "
        f"{plain(advice(name, s.offered, busy, servers, s.utilization))}"
        for name, s in schedulers.items()
        if s.overloaded
    ]
    if over:
        over.append("Mean times of overloaded schedulers are not shown: they have no steady state.")
        st.error("\n\n".join(over), icon=":material/trending_up:")
    late = [
        f"**{plain(name)} ended with a backlog**: {plain(s.state_reason)}"
        for name, s in schedulers.items()
        if s.state == "backlogged"
    ]
    if late:
        st.warning("\n\n".join(late), icon=":material/hourglass_bottom:")


def notes(data: SimulationOutcome) -> None:
    """Explain the source of the times, the assumptions of the prediction, and what was withheld and why."""
    report = data.report
    kinds: dict[str, list[str]] = {}
    for name, m in data.models.items():
        kinds.setdefault(f"{m.device}, {provenance_text(m.provenance)}", []).append(name)
    origins = [f"{', '.join(names)}: {kind}" if len(kinds) > 1 else kind for kind, names in kinds.items()]
    lines = [*tables.warmup_lines(report.warmup), *tables.precision_lines(report.precision)]
    lines += tables.withheld_lines(report.schedulers)
    one_run = all(s.replications < 2 for s in report.schedulers.values())
    paragraphs = [
        f"{'; '.join(origins)}. Predictions: queueing theory with Poisson arrivals. Intervals: 95 %, over "
        f"{'batches of the one run' if one_run else 'replications'}.",
        *(f"{line[0].upper()}{line[1:]}." for line in lines),
        _checks_text(report),
    ]
    st.caption("  \n".join(plain(line) for line in paragraphs), help=join_words(list(report.checks)))


def _checks_text(report: SimulationReport) -> str:
    """How many self-checks of the runs passed, and the engine; those that failed stand above."""
    passed, total = sum(report.checks.values()), len(report.checks)
    share = f"All {total}" if passed == total else f"{passed} of {total}"
    engine = engine_text(report.engine, python_decisions(report))
    return f"{share} self-checks passed. {engine} {format_time(report.seconds)} on the clock."


def _differences_panel(differences: Differences) -> None:
    if len(differences) < 2:
        return
    hint = "Each scheduler's mean JCT minus that of this one, on the same jobs."
    names = list(differences)
    baseline = choose_one("Baseline scheduler", names, "difference-baseline", hint, REFERENCE)
    rows = differences[baseline]
    axis = f"mean JCT minus that of {baseline}, ms"
    chart(
        dots_figure(difference_dots(rows), axis, zero=True),
        f"Mean JCT minus that of {baseline}",
        "differences-chart",
        "Paired difference of each scheduler's mean JCT with its 95 % interval",
    )
    alt = f"Paired differences from {baseline}"
    table(tables.DIFFERENCES.fill(rows), "differences", alt, f"differences_from_{baseline}")
    st.caption(
        "Intervals at 95 %, paired by replication (by job if there is only one). *Pairing saves* says how "
        "many times as many unpaired replications the same interval would need."
    )


def _confidence_rows(data: SimulatedRun) -> list[MeanConfidence]:
    return uncertainty.confidence_rows(data.report, data.predicted, data.idle_s)


def _sure_tab(state: AppState, data: SimulatedRun) -> None:
    rows = _confidence_rows(data)
    chart(
        forest_figure(rows),
        "Predicted and simulated means",
        "forest",
        "For each scheduler the formula's prediction, the simulated mean with its interval, Little's law",
    )
    table(uncertainty.CONFIDENCE.fill(rows), "confidence", "Confidence in each mean", "confidence")
    if data.off:
        off_text = off_lines(data.off)[0]
        st.markdown(f"**{plain(off_text[0].upper() + off_text[1:])}.**")
    st.markdown("**What the columns mean**")
    st.markdown(
        "\n".join(f"- **{plain(word)}**: {plain(text)}" for word, text in uncertainty.MEANING.items())
    )
    st.markdown("**Where the task times come from**")
    st.markdown("\n".join(f"- {plain(line)}" for line in uncertainty.provenance_lines(data.models)))


def _warmup_panel(series: WarmupSeries | None) -> None:
    if series:
        chart(
            warmup_figure(series),
            f"Warm-up: {series.jobs:,} jobs by MSER-5",
            "warmup",
            "Start-up of pilot runs",
        )


def _compare(state: AppState, data: SimulatedRun) -> None:
    schedulers = data.report.schedulers
    figure = dots_figure(jct_dots(schedulers), "mean JCT, ms")
    chart(
        figure,
        "Mean JCT",
        "jct",
        "Mean JCT of each scheduler with its 95 % interval",
    )
    _differences_panel(data.differences)


def _model(data: SimulatedRun) -> str:
    models = [*(["all"] if len(data.slo_s) > 1 else []), *data.slo_s]
    return choose_one("Model", models, "result-model", "The model whose jobs are drawn, or all together.")


def _distribution(state: AppState, data: SimulatedRun) -> None:
    schedulers, model = data.report.schedulers, _model(data)
    states = {name: s.state for name, s in schedulers.items()}
    figure = ecdf_figure(data.ecdf, model, data.slo_s, states)
    chart(
        figure, "Jobs completed within a time", "ecdf", "Share of jobs done within a time, for each scheduler"
    )
    rows = tables.percentiles(schedulers, model)
    table(rows, "percentiles", "Percentiles of the JCT of each scheduler", f"percentiles_{model}")


def _parts(state: AppState, data: SimulatedRun) -> None:
    schedulers, model = data.report.schedulers, _model(data)
    figure = parts_figure(schedulers, model)
    chart(figure, "Parts of the mean JCT", "parts", "Mean JCT of each scheduler by its parts")
    st.caption(
        "A task waits at servers for other jobs and background load. It waits for own tasks while its GPU "
        "runs other tasks of the same job; only splitting shortens this wait. The prediction on *Placement* "
        "counts all tasks of one job on one GPU as computing."
    )
    if stages := data.report.stages:
        st.markdown(f"**{plain(stage_loads.stage_finding(stages))}**")
        table(stage_loads.stage_rows(stages), "stages", "Each stage and the load of its instances")
        st.caption(stage_loads.ABOUT)
    if batches.batches_of(schedulers, model):
        _batches(schedulers, model)
    if (loops := closed_loops.loop_rows(schedulers)).values:
        table(loops, "loops", "Users, what they send, and Little's law", "closed-loops")
        st.caption(closed_loops.LITTLE)
    figure = utilisation_figure(schedulers)
    chart(figure, "Utilisation", "utilisation", "Utilisation of executors and busiest link")
    load = data.load[_scheduler(list(data.load))]
    cluster_result(data.scenario, load)
    busiest_links_panel(load.links)


def _batches(schedulers: Schedulers, model: str) -> None:
    alt = "Shares of the batches by their number of queries, for each scheduler"
    chart(batches.sizes_figure(schedulers, model), "Sizes of batches", "batch-sizes", alt)
    table(batches.batch_rows(schedulers), "batches", "Batches of each scheduler and model", "batches")
    st.caption(batches.LOAD_AND_BUSY)


def _over_time(state: AppState, data: SimulatedRun) -> None:
    schedulers = data.report.schedulers
    figure = jct_over_time_figure(data.over_time, {n: s.state for n, s in schedulers.items()})
    chart(figure, "JCT over time", "over-time", "Mean JCT over arrival time, for each scheduler")
    if hits := data.report.slo_over_time:
        alt = "Share of SLOs kept in each window of arrivals, for each scheduler"
        chart(hits_over_time_figure(hits), "SLO hits over time", "hits-over-time", alt)
    _warmup_panel(data.warmup)
    _first_jobs(data)


def _first_jobs(data: SimulatedRun) -> None:
    if not data.gantt:
        st.caption("No intervals were recorded: run the simulation again.")
        return
    rows = data.gantt[_scheduler(list(data.gantt))]
    alt = "Tasks on executors and hatched messages on the link, one colour per job"
    chart(gantt_figure(rows), "Tasks and messages of the first jobs", "gantt", alt)
    rare = f" Jobs are rare: the first {MOST_JOBS} are drawn, each from its own start."
    stacks = " A batch is a stack of its members." if any(r.members > 1 for r in rows) else ""
    st.caption(
        f"Hatched: messages.{stacks} Drag to move; the tool bar zooms.{rare if are_rare(rows) else ''}"
    )


def _scheduler(names: list[str]) -> str:
    return choose_one("Scheduler", names, "result-scheduler", "The scheduler to show.")


def _of_data(draw: Callable[[AppState, SimulatedRun], None]) -> Tab[KeptRun]:

    def drawn(state: AppState, run: KeptRun) -> None:
        draw(state, run.data)
        st.caption(plain(run.mark))

    return Tab(drawn)


TABS = {
    "Compare": _of_data(_compare),
    "Distribution": _of_data(_distribution),
    "Where time goes": _of_data(_parts),
    "Over time": _of_data(_over_time),
    "Confidence": _of_data(_sure_tab),
}


def early_text(data: SimulatedRun, after_s: float) -> str:
    """Describe the replications of a run that was cancelled after ``after_s`` seconds."""
    wanted, runs = data.scenario.simulation.replications, data.report.schedulers
    none = [s.name for s in data.scenario.schedulers if s.name not in runs]
    some = [f"{name} {s.replications}" for name, s in runs.items() if s.replications < wanted]
    after = f"The simulation was cancelled after {duration(after_s)}"
    text = f"{after}; the figures cover the finished replications"
    if some:
        text += f" (of {wanted}: {join_words(some)})"
    return f"{text}.{f' No replication of {join_words(none)} had ended.' if none else ''}"


def answer(state: AppState, run: KeptRun) -> None:
    """Show the charts, trouble, advice, the table, the run against the baseline."""
    data = run.data
    draw_run(run)
    for line in data.report.failed_checks:
        st.error(plain(f"A self-check failed: {line}."), icon=":material/error:")
    if data.ended_early_s is not None:
        st.warning(plain(early_text(data, data.ended_early_s)), icon=":material/stop_circle:")
    overload_warnings(data.report.schedulers, data)
    if text := unsettled_text(data.report.schedulers, data.predicted):
        st.warning(plain(text), icon=":material/hourglass_bottom:")
    for line in data.cautions:
        st.warning(plain(f"{line}."), icon=":material/school:")
    _advice(run)
    _results(run)
    notes(data)
    runs_bar(state, run)
    baseline_panel(state, run)


def _advice(run: KeptRun) -> None:
    cut = run.data.ended_early_s is not None and len(run.data.report.schedulers) == 1
    text = scheduler_advice(run.data.report.schedulers, run.data.differences)
    if text and not cut:  # else the others did not come to run: the one that did was not compared with any
        with st.container(border=True, key="advice"):
            st.markdown(f"**{plain(text)}**")


def _results(run: KeptRun) -> None:
    data = run.data
    alt = f"Every scheduler with its times, SLO hits and loads. {run.mark}"
    table(
        tables.figures(data.report.schedulers, data.predicted, entries=data.scenario.schedulers).select(
            *tables.RESULTS
        ),
        "results",
        alt,
        "simulation",
    )
