"""Plan for language models: the fewest servers of each offer, their price per hour and per output token."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from nona.app.form import entry_field, form
from nona.app.jobs.registry import AppJob
from nona.app.pages.planning.offers import engine_fields, offer_fields, roles_text
from nona.app.pages.run_page import RunPage, Tab, ended_early
from nona.app.session.page_list import page_file
from nona.app.session.state import AppState
from nona.app.widgets.downloads import Files, frame_files, reports
from nona.app.widgets.fields import button, field_error, listed, plain
from nona.app.widgets.results import show_finding, table
from nona.core.tables import share_text
from nona.language.report.tables import language_plan_finding, option_notes, options_table, plan_notes
from nona.language.results import LanguageOption, LanguagePlan, LanguagePlanned
from nona.language.workflows.plan import MOST_JOBS, opened_option
from nona.scenario.plan import TargetSpec
from nona.scenario.schema import Scenario


def _summary(scenario: Scenario) -> Sequence[str]:
    spec = scenario.plan
    if spec is None:
        return []
    return [
        f"{share_text(spec.hit)} of the requests in time",
        f"targets of {listed(list(spec.targets))}" if spec.targets else "",
        listed([offer.gpu for offer in spec.offers]) or "the GPUs of the cluster",
        listed([engine.text for engine in spec.engines]) or roles_text(scenario),
        listed([router.name for router in scenario.routers]),
    ]


def _fields(state: AppState) -> None:
    offer_fields(state)
    engine_fields(state)
    form(state, "plan", "hit survive growth confidence replications", 3, 170)
    if state.scenario.plan is None:
        return
    for label in state.scenario.language_labels:
        with st.expander(f"Further targets of {plain(label)}", icon=":material/target:"):
            st.caption("All targets must hold. The SLO counts too, unless *Within the SLO* is “not asked”.")
            path = ("plan", "targets", label)
            with st.grid(3, min_column_width=140):
                for key in TargetSpec.model_fields:
                    entry_field(state, path, key)
            field_error(state, path)


def _answer(state: AppState, data: LanguagePlanned) -> None:
    ended_early(data.ended_early_s)
    plan, best = data.plan, data.plan.best
    notes = (*plan_notes(plan), data.about.stamp)
    show_finding("language-plan-finding", language_plan_finding(plan), *notes)
    if best is not None:
        hint = "Puts these servers and this router into the scenario. Undo takes them back."
        name = "Open it as the scenario"
        button(name, "language-plan-open", _open, state, best, icon="open_in_new", hint=hint)


def _open(state: AppState, option: LanguageOption) -> None:
    state.apply(opened_option(state.scenario, option), "opening an option of the plan")
    state.notify(
        "The scenario has these servers now. Run the requests to see them.", "simulation", "Simulation"
    )
    state.go_to = page_file("simulation")


def _live(job: AppJob) -> None:
    so_far = LanguagePlanned.from_json(job.live).plan
    if so_far.best is not None:
        st.markdown(plain(f"So far: {language_plan_finding(so_far).lead}"))
        st.caption("Cancel keeps it.")
    if so_far.options:
        _table(so_far)


def _table(plan: LanguagePlan) -> None:
    alt = "Every option tried: GPU, engines, router, servers, price, verdict."
    table(options_table(plan), "language-options", alt)
    for note in option_notes(plan):
        st.caption(plain(note))


def _files(state: AppState, data: LanguagePlanned) -> Files:
    hint = "A row per option that was tried, plain numbers."
    return {
        "To share": reports(data.about, data.plan, None, "plan", "plan"),
        "Options": frame_files("Options", hint, "language_plan", lambda: options_table(data.plan).numbers()),
    }


LANGUAGE_PLAN = RunPage(
    kind="language-plan",
    label="Find what to buy",
    result_type=LanguagePlanned,
    summary=_summary,
    fields=_fields,
    live=_live,
    answer=_answer,
    before="The search takes each GPU on offer, engines of 1, 2, 4 and 8 GPUs, and each router. It finds "
    "the fewest servers with which enough requests keep every target of their row. Options that cost "
    f"more than the cheapest answer by load alone are skipped. A run has at most {MOST_JOBS:,} "
    "requests, unless all rows replay traces.",
    tabs={"Options": Tab(lambda state, data: _table(data.plan))},
    files=_files,
    command="plan",
    guide=("language", "How engines serve requests token by token"),
    advice="Fewer offers, routers or requests take less time.",
)
