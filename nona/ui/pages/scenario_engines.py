"""Engines of language models on the Scenario page: their settings, their memory, what fits, step times."""

from __future__ import annotations

import json

import streamlit as st

from nona.errors import NonaError, ScenarioError
from nona.language.memory import requests_that_fit
from nona.report.language.figures import memory_figure
from nona.report.text import counted
from nona.sources.lookup import file_names
from nona.study.engines import EngineFacts, LanguageStudy, prepare_language
from nona.tables import share_text
from nona.ui.form import field, form, switch
from nona.ui.pages.workload_facts import file_mark, kept
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import field_error, plain
from nona.ui.widgets.results import picture
from nona.units import format_size, format_time

USUAL = "tp blocks budget sequences scheduler chunked role first_token prefix_cache"
RARE = "utilization watermark lookahead"
STEPS = "a b g c q e experts active"
LOADED = ("cluster", "language", "cost", "seed", "background", "workload")  # what a preparation depends on


def prepared(state: AppState) -> LanguageStudy | ScenarioError:
    """The engines and requests of the scenario, or what prevents them."""
    scenario = state.scenario
    try:
        files = file_names(scenario, "config", "trace")
        marks = [file_mark(state, name) for name in files]
        parts = scenario.model_dump(mode="json", include=set(LOADED))
        return kept(("language", json.dumps([marks, parts])), lambda: _prepare(state))
    except ScenarioError as error:
        return error
    except NonaError as error:
        return ScenarioError([str(error)])


def _prepare(state: AppState) -> LanguageStudy:
    return prepare_language(state.scenario, state.uploads.sources)


def engine_editor(state: AppState, index: int) -> None:
    """The switch for an engine on a group of servers, its settings, and what they come to."""
    place = ("cluster", "servers", index, "engine")
    on = switch(state, ".".join(map(str, place)), {})
    field_error(state, place)
    if not on:
        return
    part = ".".join(map(str, place))
    models = list(dict.fromkeys(row.llm.model for row in state.scenario.language))
    if len(models) > 1 or state.scenario.cluster.servers[index].engine.model:  # type: ignore[union-attr]
        field(state, (*place, "model"), choices={model: model for model in models})
    form(state, part, USUAL, 5, 130)
    with st.expander(f"More on engine {index + 1}"):
        form(state, part, RARE)
        if switch(state, f"{part}.steps", {"a": "10 ms"}):
            form(state, f"{part}.steps", STEPS, 4)
    study = prepared(state)
    if isinstance(study, ScenarioError):
        for problem in study.problems:
            if problem.startswith(f"cluster.servers[{index}]"):
                st.error(plain(problem), icon=":material/error:")
        return
    here = [k for k, facts in enumerate(study.facts) if facts.group == index]
    if here:
        _consequences(study, here[0])


def _consequences(study: LanguageStudy, number: int) -> None:
    facts, engine = study.facts[number], study.system.engines[number]
    with st.grid(2, min_column_width=300, vertical_alignment="center"):
        alt = "Memory of one of its GPUs: weights, activations, graphs, KV cache"
        picture(memory_figure(facts.memory), f"memory-{facts.group}", alt)
        with st.container(gap="xsmall"):
            st.markdown(f"**{plain(_fits(study, number))}**")
            st.caption(plain(_steps_text(facts)))
            st.caption(
                f"{engine.blocks:,} blocks, {engine.budget:,} tokens a step, {engine.sequences:,} requests."
            )
    for line in facts.warnings:
        st.warning(plain(line), icon=":material/info:")


def _fits(study: LanguageStudy, number: int) -> str:
    """How many mean requests of each row the cache holds at a time."""
    engine = study.system.engines[number]
    counts = []
    for row in study.system.rows:
        if row.model == engine.model:
            tokens = round(float(row.lengths.tokens.sum(axis=1).mean()))
            fitting = requests_that_fit(engine.blocks, tokens)
            counts.append(f"{counted(fitting, 'request')} of {row.name} ({tokens:,} tokens each)")
    return f"Its cache holds at a time {' or '.join(counts)}." if counts else "No row asks for its model."


def _steps_text(facts: EngineFacts) -> str:
    steps = facts.steps
    error = f", ± {share_text(steps.error)}" if steps.error else ""
    alone = format_time(steps.times.seconds(1, 1024, 0, 0.0))
    return (
        f"Step times {steps.provenance}{error} ({steps.source}): {alone} for a token of an answer behind "
        f"1,024 tokens. {format_size(facts.memory.weights)} of weights on each of {counted(facts.tp, 'GPU')}."
    )
