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
from nona.app.widgets.downloads import download_button
from nona.app.widgets.fields import button, label_text, plain, show_error, shown_at_once
from nona.core.tables import Column, Table, csv_bytes
from nona.core.text import count_text
from nona.deployment.facts import GIVEN, Fact, Facts

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
| trtexec and ONNX Runtime profiles, with the `model.onnx` in one ZIP | times of operators |
"""
_PARTS = (("asked", "Asked"), ("assumed", "Assumed"), ("read", "Read"), ("not_used", "Not used"))


def imported_page(state: AppState) -> None:
    """Show the facts of the files, the open questions, and the next step."""
    runs = state.choices.get(WhatRuns)
    st.markdown(
        "Drop files of your cluster here: a Triton repository (ZIP), `kubectl get nodes -o json`, a vLLM "
        "command, scrapes of Prometheus, a table of perf_analyzer. Files are read as text; nothing runs."
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
            "Empty a field to be asked again; other questions may go away with an answer."
        )
        likely = sum(bool(fact.value) for fact in facts.asked)
        if likely:
            button(
                f"Take what is likely ({likely})", "imported-likely", take_suggestions, state,
                icon="done_all",
                hint="Answers the questions whose fields name a likely value. Each answer can be changed.",
            )  # fmt: skip
    _questions(state, runs, facts)
    button(
        "Make it the scenario", "imported-make", make_scenario, state, icon="dns", type="primary",
        disabled=not runs.imported.whole,
        hint="Once every question is answered. Undo brings your scenario back.",
    )  # fmt: skip
    st.subheader("What the files say")
    _facts(facts)
    button("Forget these files", "imported-forget", forget, state, icon="delete")


def _facts(facts: Facts) -> None:
    """Show each fact with its file and line, in tables whose cells break lines; their file has all."""
    rows = [(title, fact) for part, title in _PARTS for fact in getattr(facts, part)]
    shown = [rows[i] for i in shown_at_once(len(rows), "imported-facts", "Facts")]
    for _, title in _PARTS:
        cells = [
            {"what": plain(fact.what), "value": plain(fact.value or "–"), "from": _broken(_from(fact))}
            for part, fact in shown
            if part == title
        ]
        if cells:
            st.markdown(f"**{title}**")
            st.table(cells, border="horizontal", hide_index=True, alt=f"{title}: facts with file and line")
    download_button(
        "CSV", "csv-imported-facts", lambda: csv_bytes(FACTS.fill(rows).numbers()), "imported_facts.csv",
        "All facts with file and line.", type="tertiary",
    )  # fmt: skip


def _broken(place: str) -> str:
    """Return a place that may go on in a new line after each folder."""
    return plain(place).replace("/", "/\u200b")


def _questions(state: AppState, runs: WhatRuns, facts: Facts) -> None:
    """Draw a field for each question; answered ones keep their place, so that the next has the focus."""
    asked = {fact.key: fact for fact in facts.asked}
    with st.grid(2, min_column_width=320):
        for question in runs.questions:
            if question not in asked and question not in runs.answers:
                continue
            fact, key = asked.get(question), f"imported-answer-{question}"
            if question in runs.answers:
                st.session_state[key] = runs.answers[question]
            label = fact.what if fact else facts.answered.get(question, question)
            name_first = not label.partition(" ")[0].isalpha()
            st.text_input(
                label_text(label if name_first else f"{label[:1].upper()}{label[1:]}"),
                key=key,
                placeholder=f"likely {fact.value}" if fact and fact.value else "",
                on_change=_answered,
                args=(state, question, key),
            )


def _answered(state: AppState, key: str, widget: str) -> None:
    answer(state, key, str(st.session_state.get(widget) or ""))
