"""Language models on the Scenario page: engines and what fits them; a card for each row, its load."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as field_of
from functools import partial
from statistics import harmonic_mean
from typing import Any

import streamlit as st

from nona.app.form import field, fields, form, switch
from nona.app.pages.scenario.edits import add_entry, become, remove_entry
from nona.app.pages.scenario.workload_facts import file_mark, kept
from nona.app.session.opening import NEW
from nona.app.session.state import AppState
from nona.app.widgets.fields import button, field_error, plain, selector, stored_name, upload
from nona.app.widgets.results import picture
from nona.core.errors import NonaError, ScenarioError
from nona.core.tables import share_text
from nona.core.text import count_text
from nona.core.units import format_size, format_time
from nona.language.formula import predict
from nona.language.gpu import requests_that_fit, share_for
from nona.language.models import language_models, read_config
from nona.language.report.figures import lengths_figure, memory_figure
from nona.language.report.memory import needed_text, shown_share
from nona.language.traces import read_tokens
from nona.language.workflows.engines import EngineFacts, PreparedLanguage, prepare_language
from nona.scenario.file import scenario_from_mapping
from nona.scenario.lookup import file_names
from nona.scenario.words import words

_USUAL = "tp blocks budget sequences scheduler chunked role first_token prefix_cache"
_RARE = "utilization graphs kv watermark lookahead"
STEPS = "a b g c q e experts active"
_LOADED = ("cluster", "language", "cost", "seed", "background", "workload")  # what a preparation depends on


def prepared_language(state: AppState) -> PreparedLanguage | ScenarioError:
    """Return the engines and requests of the scenario, or what prevents them."""
    scenario = state.scenario
    try:
        files = file_names(scenario, "config", "trace")
        marks = [file_mark(state, name) for name in files]
        parts = scenario.model_dump(mode="json", include=set(_LOADED))
        return kept(("language", json.dumps([marks, parts])), lambda: _prepare(state))
    except ScenarioError as error:
        return error
    except NonaError as error:
        return ScenarioError([str(error)])


def _prepare(state: AppState) -> PreparedLanguage:
    return prepare_language(state.scenario, state.uploads.sources)


def engine_editor(state: AppState, index: int) -> None:
    """Draw the switch for an engine on a group of servers, its settings, and what they come to."""
    place = ("cluster", "servers", index, "engine")
    on = switch(state, ".".join(map(str, place)), {})
    field_error(state, place)
    if not on:
        return
    part = ".".join(map(str, place))
    models = list(dict.fromkeys(row.llm.model for row in state.scenario.language))
    if len(models) > 1 or state.scenario.cluster.servers[index].engine.model:  # type: ignore[union-attr]
        field(state, (*place, "model"), choices={model: model for model in models})
    form(state, part, _USUAL, 5, 130)
    with st.expander(f"More on engine {index + 1}"):
        form(state, part, _RARE)
        if switch(state, f"{part}.steps", {"a": "10 ms"}):
            form(state, f"{part}.steps", STEPS, 4)
    prepared = prepared_language(state)
    if isinstance(prepared, ScenarioError):
        for problem in prepared.problems:
            if problem.startswith(f"cluster.servers[{index}]"):
                st.error(plain(problem), icon=":material/error:")
        return
    here = [k for k, facts in enumerate(prepared.facts) if facts.group == index]
    if here:
        _consequences(state, prepared, here[0])


def _consequences(state: AppState, prepared: PreparedLanguage, number: int) -> None:
    facts, engine = prepared.facts[number], prepared.system.engines[number]
    with st.grid(2, min_column_width=300, vertical_alignment="center"):
        alt = "Memory of one GPU of the engine: weights, activations, graphs, KV cache"
        picture(memory_figure(facts.memory), f"memory-{facts.group}", alt)
        with st.container(gap="xsmall"):
            st.markdown(f"**{plain(_fits(prepared, number))}**")
            st.caption(plain(_steps_text(facts)))
            st.caption(
                f"KV cache: {engine.blocks:,} blocks. A step: at most {engine.budget:,} tokens of "
                f"{engine.sequences:,} requests."
            )
    _share_asked(state, prepared, number)
    for line in facts.warnings:
        st.warning(plain(line), icon=":material/info:")


def _share_asked(state: AppState, prepared: PreparedLanguage, number: int) -> None:
    """Ask which share of the memory so many requests at once need, and offer to take it."""
    facts, (first, *_) = prepared.facts[number], [*_tokens_of(prepared, number).values(), 2048]
    key, place = f"{state.revision}-{facts.group}", ("cluster", "servers", facts.group, "engine")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        hint = "Requests in the KV cache at the same time, one for each user."
        requests = st.number_input(
            "Requests at once", 1, 100_000, 20, key=f"held-{key}", width=150, help=hint
        )
        hint = "Tokens of each request, prompt and answer together."
        tokens = st.number_input(
            "Tokens of each", 1, 1_000_000, first, key=f"long-{key}", width=150, help=hint
        )
        share = shown_share(share_for(facts.memory, requests, tokens))
        if share <= 1 and state.value((*place, "blocks")) == "auto":
            hint = "Sets Memory used of this engine to the share that these requests need."
            button(f"Use {share:g}", f"take-share-{key}", _take_share, state, place, share, hint=hint)
    st.caption(plain(f"By the estimate of memory, {needed_text(share, requests, tokens)}"))


def _take_share(state: AppState, place: tuple[str | int, ...], share: float) -> None:
    state.change((*place, "utilization"), share)


def _fits(prepared: PreparedLanguage, number: int) -> str:
    blocks = prepared.system.engines[number].blocks
    counts = [
        f"{count_text(requests_that_fit(blocks, tokens), 'request')} of {name} ({tokens:,} tokens each)"
        for name, tokens in _tokens_of(prepared, number).items()
    ]
    given = prepared.scenario.cluster.servers[prepared.facts[number].group].engine
    by = "" if given is None or given.blocks == "auto" else f", by the {blocks:,} blocks given"
    held = f"The KV cache holds {' or '.join(counts)} at once{by}."
    return held if counts else "No row uses the engine's model."


def _tokens_of(prepared: PreparedLanguage, number: int) -> dict[str, int]:
    """Return the mean tokens of a request of each row that asks the engine's model, prompt and answer."""
    model = prepared.system.engines[number].model
    return {
        row.name: round(float(row.lengths.tokens.sum(axis=1).mean()))
        for row in prepared.system.rows
        if row.model == model
    }


def _steps_text(facts: EngineFacts) -> str:
    steps = facts.steps
    error = f", ± {share_text(steps.error)}" if steps.error else ""
    alone = format_time(steps.times.seconds(1, 1024, 0, 0.0))
    return (
        f"Step times {steps.provenance}{error} ({steps.source}): {alone} for a token of an answer behind "
        f"1,024 tokens. {format_size(facts.memory.weights)} of weights on each of "
        f"{count_text(facts.tp, 'GPU')}."
    )


BEST_HINT = (
    "Predicted engine load with even routing. Above 100 % queues grow. Not for closed loops, cached "
    "prefixes, split roles, MoE or engines other than vLLM: simulate."
)
EVEN_HINT = "Predicted load of the busiest engine if requests are split evenly, as round-robin does."
OPEN, CLOSED, REPLAYED = "at a rate", "from users", "as in the trace"
_ARRIVING = ("rate", "concurrency", "after", "arrivals")
DRAWN = "drawn"
CONFIG, TRACE = ".config.json", ".tokens."  # in the names of uploaded files
FIRST = {"input": 512, "output": 128}


def load_tiles(state: AppState) -> list[tuple[str, str, str]]:
    """Return the formula's load of the engines of the fullest model, where it holds."""
    prepared = prepared_language(state)
    loads: dict[str, list[float]] = {}
    if not isinstance(prepared, ScenarioError):
        for k, engine in enumerate(prepared.system.engines):
            prediction = predict(prepared.system, k)
            loads.setdefault(engine.model, []).append(math.nan if prediction is None else prediction.load)
    if not loads or any(math.isnan(load) for of in loads.values() for load in of):
        return [("Load of the engines", "by simulation", BEST_HINT)]
    best, even = max(map(harmonic_mean, loads.values())), max(map(max, loads.values()))
    tiles = ("Engine load, best routing", best, BEST_HINT), ("Engine load, split evenly", even, EVEN_HINT)
    return [(name, share_text(load, 1), hint) for name, load, hint in tiles]


def language_row(state: AppState, index: int) -> None:
    """Draw a card for one row of requests."""
    place, row = ("language", index), state.scenario.language[index]
    with st.container(border=True, key=f"language-row-{index}"):
        st.markdown(f"**{plain(state.scenario.language_labels[index])}**")
        with st.grid(6, min_column_width=120, vertical_alignment="bottom"):
            names = dict.fromkeys([*language_models(), *_configs(state), row.llm.model])
            field(state, (*place, "llm", "model"), choices={name: name for name in names})
            _arrivals(state, index)
            fields(state, (*place, "slo"), "ttft tpot e2e")
        _lengths(state, index)
        for problem in _problems(state, index):
            st.error(plain(problem), icon=":material/error:")
        with st.expander(f"More on {plain(state.scenario.language_labels[index])}"):
            _details(state, index)
        with st.container(horizontal=True):
            for label, icon, act in (
                ("Duplicate", "content_copy", _duplicate),
                ("Remove", "delete", _remove),
            ):
                button(
                    label, f"{label.lower()}-language-{state.revision}-{index}", act, state, index, icon=icon
                )


def _duplicate(state: AppState, index: int) -> None:
    add_entry(state, ("language",), state.value(("language", index)))


def _remove(state: AppState, index: int) -> None:
    remove_entry(state, ("language",), index)


def _configs(state: AppState) -> list[str]:
    return [name for name in state.uploads.names() if name.endswith(CONFIG)]


def _problems(state: AppState, index: int) -> list[str]:
    """Return the preparation's warnings of this row, or of no place at all: those stand at the first row."""
    prepared = prepared_language(state)
    if not isinstance(prepared, ScenarioError):
        return list(prepared.warnings) if index == 0 else []
    here = f"workload[{len(state.scenario.workload) + index}]"
    elsewhere = ("workload[", "cluster.servers[")
    return [
        p for p in prepared.problems if p.startswith(here) or (index == 0 and not p.startswith(elsewhere))
    ]


@dataclass(frozen=True, slots=True)
class FormerArrivals:
    """Settings of the ways of arriving that rows have left, by the row's label and the way."""

    settings: Mapping[tuple[str, str], Mapping[str, Any]] = field_of(default_factory=dict)


def _arrivals(state: AppState, index: int) -> None:
    row, place = state.scenario.language[index], ("language", index)
    ways: dict[str, dict[str, Any]] = {OPEN: {"rate": "3/s"}, CLOSED: {"concurrency": 16}}
    if row.llm.trace:
        ways[REPLAYED] = {}
    else:
        ways |= {_setting_key(label): {"after": label} for label in state.scenario.labels}
    now = CLOSED if row.concurrency else OPEN if row.rate is not None else REPLAYED
    now = now if row.after is None else _setting_key(row.after)

    def choose_arrivals(way: str) -> None:
        label, whole = state.scenario.language_labels[index], state.value(place)
        left = state.choices.get(FormerArrivals).settings
        before = left.get((label, way), ways[way])
        state.choices.keep(FormerArrivals({**left, (label, now): {key: whole[key] for key in _ARRIVING}}))
        none: dict[str, Any] = {"rate": None, "concurrency": None, "after": None, "arrivals": {}}
        state.change(place, {**whole, **none, **before})

    hint = (
        "At a rate: requests arrive independently of the engines. From users: a fixed number of users, each "
        "with one request at a time, so the load limits itself. After a row: "
        f"{words((*place, 'after')).about}"
    )
    selector("Arrivals", list(ways), now, f"arrivals-{state.revision}-{index}", choose_arrivals, hint)
    if now in (OPEN, CLOSED):
        field(state, (*place, "concurrency" if now == CLOSED else "rate"))


def _setting_key(label: str) -> str:
    return f"after {label}"


def _lengths(state: AppState, index: int) -> None:
    row, place = state.scenario.language[index], ("language", index, "llm")
    traces = dict.fromkeys([*_traces(state), *([row.llm.trace] if row.llm.trace else [])])

    def choose_source(source: str) -> None:
        whole = state.value(place[:2])
        drawn = source == DRAWN
        after = whole["after"] if drawn else None
        rate = (whole["rate"] or "3/s") if drawn and not (whole["concurrency"] or after) else None
        llm = {"model": whole["llm"]["model"], **({"tokens": FIRST} if drawn else {"trace": source})}
        state.change(place[:2], {**whole, "llm": llm, "rate": rate, "after": after, "arrivals": {}})

    options = [DRAWN, *traces]
    with st.grid(5, min_column_width=120, vertical_alignment="bottom"):
        hint = "Token counts of prompts and answers: drawn at random, or from a trace with its arrivals."
        selector(
            "Lengths",
            options,
            row.llm.trace or DRAWN,
            f"lengths-{state.revision}-{index}",
            choose_source,
            hint,
        )
        for side in ("input", "output") if row.llm.tokens else ():
            path = (*place, "tokens", side)
            title = words(path).title
            if getattr(row.llm.tokens, side).values:
                st.caption(f"{title}: drawn from the list in the scenario file.")
                continue
            field(state, (*path, "mean"), title)
            field(state, (*path, "cv"), f"{title}, CV")
    field_error(state, place[:2])
    prepared = prepared_language(state)
    if isinstance(prepared, ScenarioError):
        return
    label = state.scenario.language_labels[index]
    with (
        st.expander(f"Lengths of {plain(label)}", icon=":material/bar_chart:"),
        st.grid(2, min_column_width=260),
    ):
        tokens = prepared.system.rows[index].lengths.tokens
        for column, title in enumerate(("Input tokens", "Output tokens")):
            figure = lengths_figure(tokens[:, column], title.lower())
            picture(figure, f"tokens-{index}-{column}", f"{title} of the requests of {label}: histogram")


def _traces(state: AppState) -> list[str]:
    return [name for name in state.uploads.names() if TRACE in name]


def _details(state: AppState, index: int) -> None:
    row, place = state.scenario.language[index], f"language.{index}"
    with st.grid(4, min_column_width=130):
        fields(state, place, "name priority")
        if row.llm.tokens:
            for side in ("input", "output"):
                path = ("language", index, "llm", "tokens", side)
                field(state, (*path, "most"), f"{words(path).title}, most")
        if row.rate is not None and not row.llm.trace:
            drawn = words(f"{place}.arrivals.process").choices
            del drawn["trace"]
            field(state, f"{place}.arrivals.process", "Gaps between arrivals", choices=drawn)
            for name in ("cv", "burst_factor", "burst_fraction", "burst_mean"):
                field(state, f"{place}.arrivals.{name}", slider=name == "burst_fraction")
    if row.llm.tokens and switch(state, f"{place}.llm.tokens.prefix", {"tokens": 100}):
        form(state, f"{place}.llm.tokens.prefix", "tokens groups")


def another_language_row(state: AppState) -> None:
    """Draw the button that adds a row of requests, and the field for own files."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        models = [*language_models(), *_configs(state)]
        chosen = st.selectbox(
            "Another language model",
            models,
            key="another-language-model",
            width=260,
            help="Engines serve it token by token. Choose a shipped model, or a config.json that you "
            "uploaded.",
        )
        hint = (
            "Adds a row with 3 requests per second, and an engine on an H100 if no engine serves the model."
        )
        button("Add its requests", "add-language-row", _add, state, chosen, icon="add", hint=hint)
    with st.expander("Traces of requests, and models of your own", icon=":material/upload_file:"):
        st.caption(
            "A trace lists arrivals with input and output tokens: a file of Azure, BurstGPT, Mooncake or "
            "GuideLLM, or a CSV. A config.json describes a model in Hugging Face's format."
        )
        hint = "Then choose the trace as the lengths of a row, or the config.json as its model."
        upload(state, "Trace or config.json", "token-file", "token-file", partial(take_requests, state), hint)


def take_requests(state: AppState, name: str, data: bytes) -> None:
    """Take a trace of requests or a model's config.json; raises ``NonaError`` for another file."""
    try:
        read_config(data, name)
        ending = CONFIG
    except NonaError:
        read_tokens(data, name)
        ending = f"{TRACE}{name.rpartition('.')[2].lower()}"
    state.notify(f"{state.uploads.add(stored_name(name, ending), data)} can be chosen in a row of requests.")


def _add(state: AppState, model: str) -> None:
    """Add a row, and an engine where no group serves its model: all as one step to undo."""
    if state.is_behind():
        return
    data = state.scenario.model_dump(mode="json")
    asked = list(dict.fromkeys(row.llm.model for row in state.scenario.language))
    engines = [group["engine"] for group in data["cluster"]["servers"] if group["engine"]]
    if asked and model not in asked:
        for engine in engines:
            engine["model"] = engine["model"] or asked[0]
    unused = not data["workload"] and data["training"] is None
    if unused and state.scenario.cluster == scenario_from_mapping(NEW).cluster:
        data["cluster"]["servers"] = []  # as *New scenario* gave them: nothing would run there
    if not any(engine["model"] in (None, model) for engine in engines):
        data["cluster"]["servers"].append({"gpu": "h100", "engine": {"model": model if asked else None}})
    data["language"].append(
        {"llm": {"model": model, "tokens": FIRST}, "rate": "3/s", "slo": {"ttft": "500 ms"}}
    )
    if become(state, data, "adding requests to a language model"):
        state.notify(f"{model} was added: 3 requests a second.")
