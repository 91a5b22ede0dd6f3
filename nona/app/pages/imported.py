"""The page of imported files of a cluster: questions first, then each fact with file and line."""

from __future__ import annotations

import streamlit as st

from nona.app.layout.open_files import file_field
from nona.app.session.imported import (
    WhatRuns,
    answer,
    forget,
    make_scenario,
    take_sample,
    take_suggestions,
)
from nona.app.session.state import AppState
from nona.app.widgets.fields import button, label_text, plain, show_error
from nona.app.widgets.results import table
from nona.core.tables import Column, Table
from nona.core.text import count_text
from nona.deployment.facts import GIVEN, Fact

FACTS = Table[tuple[str, Fact]](
    "",
    (
        Column("", lambda row: row[0]),
        Column("what", lambda row: row[1].what),
        Column("value", lambda row: row[1].value or ""),
        Column("from", lambda row: _from(row[1])),
    ),
)


def _from(fact: Fact) -> str:
    """Return where a fact comes from; who answers on this page has no command line to look for."""
    return "your answer" if fact.place.startswith(GIVEN) else fact.place


_READ = """
| file | what is read from it |
|---|---|
| Triton repository, as a ZIP | tasks and tensors of ensembles, instances, batching |
| `kubectl get nodes -o json`, `nvidia-smi -L` and `--query-gpu` | servers, GPUs, MIG slices, sharing |
| vLLM command or `config.yaml`, with `config.json` | engines of language models, and the model's width |
| two or more scrapes of Prometheus of one server | rates, batches, queue times, time by batch, KV blocks |
| perf_analyzer, model_analyzer, AIPerf | times by batch, speed of instances, lengths of requests |
| KServe and Ray Serve configurations | the graph of services, replicas, GPUs |
| trtexec and ONNX Runtime profiles | times of operators |
"""
_PARTS = (("read", "read"), ("assumed", "assumed"), ("not_used", "not used"))


def imported_page(state: AppState) -> None:
    """Show the facts of the files, the open questions, and the next step."""
    runs = state.choices.get(WhatRuns)
    st.markdown(
        "Drop files of your cluster here: a Triton repository (ZIP), `kubectl get nodes -o json`, a vLLM "
        "command, two scrapes of Prometheus, a table of perf_analyzer. Files are read as text; nothing runs."
    )
    file_field(state, f"imported-files-{len(runs.files)}", "imported")
    if runs.problem:
        show_error(runs.problem)
    if runs.imported is None:
        hint = "Files of a Triton server that ship with this app, made up for it."
        button("Try it with sample files", "imported-sample", take_sample, state, icon="science", hint=hint)
        st.markdown(_READ)
        return
    facts = runs.imported.facts
    if facts.asked:
        st.subheader(f"{count_text(len(facts.asked), 'question')} left open")
        st.caption(
            "Answer each, then make it the scenario. Where a label says none, the word none is an answer. "
            "Other questions may go away with an answer."
        )
        likely = sum(bool(fact.value) for fact in facts.asked)
        if likely:
            button(
                f"Take what is likely ({likely})", "imported-likely", take_suggestions, state,
                icon="done_all",
                hint="Answers the questions whose fields name a likely value. Each answer can be changed.",
            )  # fmt: skip
        _questions(state, facts.asked)
    if runs.answers:
        with st.expander("Answered", icon=":material/edit:"):
            _answers(state, runs)
    with st.container(horizontal=True):
        button(
            "Make it the scenario", "imported-make", make_scenario, state, icon="dns", type="primary",
            disabled=not runs.imported.whole,
            hint="Once every question is answered. Undo brings your scenario back.",
        )  # fmt: skip
        button("Forget these files", "imported-forget", forget, state, icon="delete")
    st.subheader("What was read")
    rows = [(title, fact) for part, title in _PARTS for fact in getattr(facts, part)]
    table(FACTS.fill(rows), "imported-facts", "Each fact with its file and line", name="what_was_read")


def _questions(state: AppState, asked: tuple[Fact, ...]) -> None:
    """Draw a field for each question, empty, with what is likely named in it."""
    with st.grid(2, min_column_width=320):
        for fact in asked:
            key = f"imported-answer-{fact.key}"
            st.text_input(
                label_text(f"{fact.what[:1].upper()}{fact.what[1:]}"),
                key=key,
                placeholder=f"likely {fact.value}" if fact.value else "",
                help=plain(f"{fact.place}; on the command line --set {fact.key}=…"),
                on_change=_answered,
                args=(state, fact.key, key),
            )


def _answers(state: AppState, runs: WhatRuns) -> None:
    """Draw a field for each answer; an emptied one is asked again."""
    with st.grid(2, min_column_width=320):
        for given, text in runs.answers.items():
            key = f"imported-given-{given}"
            st.text_input(
                label_text(given), text, key=key, on_change=_answered, args=(state, given, key),
                help="Empty it to be asked again.",
            )  # fmt: skip


def _answered(state: AppState, key: str, widget: str) -> None:
    answer(state, key, str(st.session_state.get(widget) or ""))
