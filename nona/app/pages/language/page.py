"""Simulation of language models: routers compared, times to tokens, steps of the engines, their caches."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from nona.app.form import field, fields
from nona.app.pages.run_page import RunPage, Tab
from nona.app.pages.scenario.edits import become
from nona.app.session.state import AppState
from nona.app.widgets.downloads import Download, Files, file_stem, frame_files, reports
from nona.app.widgets.fields import acting, listed, one_of, plain
from nona.app.widgets.policy_choice import pick_entries, policy_entries
from nona.app.widgets.results import chart, show_finding, table
from nona.core.chrome_trace import trace_text
from nona.core.text import count_text
from nona.language.report.figures import (
    cache_figure,
    goodput_figure,
    plane_figure,
    steps_figure,
    times_figure,
)
from nona.language.report.html import language_html
from nona.language.report.tables import (
    HELP,
    MEASURES,
    best_router,
    engines_table,
    followed_lines,
    language_finding,
    language_trace,
    off_lines,
    pause_text,
    predicted_lines,
    requests_table,
)
from nona.language.results import LanguageRun
from nona.language.routers import ROUTERS
from nona.language.system import BLOCK_TOKENS
from nona.scenario.schema import Scenario
from nona.scenario.words import words


def _summary(scenario: Scenario) -> Sequence[str]:
    size = scenario.simulation
    return [
        listed([r.name for r in scenario.routers]),
        f"{count_text(size.jobs, 'request')} × {count_text(size.replications, 'run')}",
        f"seed {scenario.seed}",
    ]


def _fields(state: AppState) -> None:
    pick_entries(state, "language-routers", ("routers",), policy_entries(ROUTERS, "Routers"))
    _budget(state)
    if state.scenario.workload:
        st.caption("The run uses the jobs, replications and seed of the queries below.")
        return
    with st.grid(3, min_column_width=150, vertical_alignment="bottom"):
        field(state, "simulation.jobs", "Requests measured per run")
        fields(state, (), "simulation.replications seed")


def _answer(state: AppState, data: LanguageRun) -> None:
    of = data.report.schedulers[best_router(data.report.schedulers)]
    notes = (*followed_lines(data.report), *predicted_lines(of), *off_lines(of), data.about.stamp)
    show_finding("language-finding", language_finding(data.report), *notes)
    for warning in data.report.warnings:
        st.warning(plain(warning), icon=":material/info:")
    for failed in data.report.failed_checks:
        st.error(plain(failed), icon=":material/error:")


def _routers(state: AppState, data: LanguageRun) -> None:
    of = data.report.schedulers
    for name, router in of.items():
        if router.state != "stable":
            st.warning(plain(f"{name} is {router.state}: {router.state_reason}"), icon=":material/warning:")
    row = one_of("Row", data.rows, "language-row", "") if len(data.rows) > 1 else data.rows[0]
    with st.grid(2, min_column_width=380):
        if any(r.models[row].goodput is not None for r in of.values()):
            chart(
                goodput_figure(of),
                "Goodput of all rows",
                "language-goodput",
                "A dot with its interval for each router.",
            )
        for measure in ("ttft_s", "tpot_s", "e2e_s"):
            title = f"{row}: {MEASURES[measure]}"
            chart(times_figure(of, row, measure), title, f"language-{measure}", HELP[measure])
    table(requests_table(of), "language-requests", "Each row of requests under each router.")


def _requests(state: AppState, data: LanguageRun) -> None:
    row = one_of("Row", data.rows, "language-plane-row", "") if len(data.rows) > 1 else data.rows[0]
    targets = next(iter(data.report.schedulers.values())).models[row].targets
    chart(
        plane_figure(data.requests, data.rows.index(row), targets),
        f"{row}: the first token, and those that follow",
        "language-plane",
        "One point per request, by router; lines are the targets.",
    )
    st.caption(
        "A sample of the first run's requests. Requests below and left of the targets count towards goodput."
    )


BUDGETS: tuple[int | str, ...] = ("auto", 256, 512, 1024, 2048, 4096, 8192, 16384)


def _budget(state: AppState) -> None:
    groups = state.scenario.cluster.servers
    now = next((group.engine.budget for group in groups if group.engine is not None), "auto")
    options = sorted({*BUDGETS, now}, key=lambda budget: 0 if isinstance(budget, str) else budget)
    wording = words("cluster.servers[0].engine.budget")

    def choose_budget(budget: int | str) -> None:
        data = state.scenario.model_dump(mode="json")
        for group in data["cluster"]["servers"]:
            if group["engine"] is not None:
                group["engine"]["budget"] = budget
        become(state, data, "the token budget of the engines")

    st.select_slider(
        wording.title,
        options,
        now,
        lambda budget: wording.choices.get(budget, f"{budget:,}" if isinstance(budget, int) else budget),
        **acting(f"language-budget-{state.revision}", choose_budget),
        help=f"{wording.about} For all engines; page Scenario has the setting of each.",
    )


def _engines(state: AppState, data: LanguageRun) -> None:
    names = list(data.report.schedulers)
    router = one_of("Router", names, "language-router", "") if len(names) > 1 else names[0]
    of = data.report.schedulers[router]
    engines, steps = list(of.engines), data.steps[router]
    chart(
        steps_figure(steps, engines, pause := data.pauses.get(router), data.rows),
        "Steps of the engines: where prompts are computed (prefill), answers wait (decode)",
        "language-steps",
        "One cell per step; steps that compute prompts have another colour, as has the longest pause.",
    )
    if pause is not None:
        st.markdown(plain(pause_text(pause, data.rows)))
    sizes = [BLOCK_TOKENS * engine.blocks for engine in of.engines.values()]
    chart(
        cache_figure(steps, engines, sizes),
        "KV cache usage. A full cache preempts requests.",
        "language-cache",
        "One line per engine, in per cent of its cache.",
    )
    st.caption(
        "Steps around the longest step of the first run. Each step gives one token to every running answer."
    )
    table(engines_table(of), "language-engines", "Each engine under this router.")


def _files(state: AppState, data: LanguageRun) -> Files:
    name = file_stem(data.about.name)
    trace = Download(
        "Steps (Chrome trace)",
        "The steps of every engine with the tokens in its cache, for ui.perfetto.dev.",
        f"{name}_trace.json",
        lambda: trace_text(language_trace(data)).encode(),
    )
    hint = "Means, intervals and percentiles as plain numbers, in seconds."
    rows = requests_table(data.report.schedulers)
    page = reports(data.about, data.report, lambda: language_html(data), "simulate")
    return {
        "To share": [*page, trace],
        "Results per router and row": frame_files("Summary", hint, f"{name}_summary", rows.numbers),
    }


LANGUAGE = RunPage(
    kind="language",
    label="Run the requests",
    result_type=LanguageRun,
    summary=_summary,
    fields=_fields,
    answer=_answer,
    before="Every router gets the same requests. A run shows the time to the first token (TTFT) and per "
    "further token (TPOT). It also shows the share of requests that meet every target (goodput), and the "
    "cache usage.",
    tabs={"Routers": Tab(_routers), "Requests": Tab(_requests), "Engines": Tab(_engines)},
    files=_files,
    command="simulate",
    guide=("language", "How engines serve requests token by token"),
    advice="Fewer requests, replications or routers take less time.",
    poll_s=0.3,
)
