"""From a scenario to engines and requests: models, step times and memory looked up, lengths drawn or read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePath
from types import MappingProxyType
from typing import cast

import numpy as np

from nona.cluster.hardware.device import find_device, user_devices
from nona.cluster.hardware.executor import make_executor_class
from nona.core.arrays import Ints
from nona.core.errors import ScenarioError
from nona.core.random_streams import RandomStreams
from nona.core.tables import share_text
from nona.core.units import format_size
from nona.language.gpu import (
    KnownSteps,
    MemorySplit,
    WeightPrecision,
    memory_split,
    smallest_tp,
    step_times,
    visible_bytes,
    vllm_defaults,
    widths,
)
from nona.language.models import LanguageModel, language_models, read_config
from nona.language.system import (
    BLOCK_TOKENS,
    Engine,
    LanguageSystem,
    Lengths,
    RequestClass,
    StepTimes,
    Targets,
)
from nona.language.traces import TokenTrace, read_tokens
from nona.queries.system import BackgroundStream
from nona.queries.workflows.traffic import arrivals_of, network_of
from nona.scenario.arrivals import Arrivals, effective_rate
from nona.scenario.language import EngineSpec, LanguageRow, LengthSpec, TokensSpec
from nona.scenario.lookup import Sources, is_config
from nona.scenario.schema import Scenario

DRAWS = 65_536
"""Requests whose lengths are drawn beforehand, one from each of so many parts of equal probability."""


class MisfitError(ScenarioError):
    """A model does not fit the GPUs of an engine, or its heads do not divide among them."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """The basis of an engine; those of one group of servers have one.

    ``group`` is its number in ``cluster.servers``, ``memory`` that of each of ``tp`` GPUs; on ``least_tp`` of
    them the model fits (0: on no number). ``budget`` tokens of a step, ``sequences`` requests at a time.
    """

    group: int
    gpu: str
    model: LanguageModel
    tp: int
    budget: int
    sequences: int
    steps: KnownSteps
    memory: MemorySplit
    least_tp: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PreparedLanguage:
    """A prepared scenario: ``facts`` of each of the system's engines, ``warnings`` on its rows."""

    scenario: Scenario
    sources: Sources
    system: LanguageSystem
    facts: tuple[EngineFacts, ...]
    warnings: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        """The largest relative error of the engines' step times; 0 where all are given."""
        return max((basis.steps.error for basis in self.facts), default=0.0)

    def with_query_messages(self, messages: tuple[BackgroundStream, ...], scheduler: str) -> PreparedLanguage:
        """Return the same with the messages that queries under a scheduler send over each link."""
        network, warnings = replace(self.system.network, messages=messages), self.warnings
        links, kv = network.topology, self.system.kv_messages
        both = [
            (messages[k].load(capacity), kv[name].load(capacity), name)
            for k, (name, capacity) in enumerate(zip(links.link_names, links.link_capacity, strict=True))
            if name in kv
        ]
        share, of_kv, name = max(both, default=(0.0, 0.0, ""))
        if share:
            link = "link" if links.links == 1 else f"link {name!r}"
            left_out = ", but for that of closed loops" * any(row.concurrency for row in self.system.rows)
            warnings = (
                *warnings,
                f"KV waits behind the messages of queries, {share_text(share, 1)} of the {link} under "
                f"{scheduler}, and these behind KV{left_out}, {share_text(of_kv, 1)}.",
            )
        return replace(self, system=replace(self.system, network=network), warnings=warnings)

    def with_steps_off(self, side: int) -> PreparedLanguage:
        """Return the system with all step times at one end of their error: −1 faster, 1 slower."""
        engines = tuple(
            replace(engine, steps=engine.steps.scaled(1 + side * basis.steps.error))
            for engine, basis in zip(self.system.engines, self.facts, strict=True)
        )
        return replace(self, system=replace(self.system, engines=engines))


_NO_SOURCES = Sources()
_tokens_of = lru_cache(maxsize=8)(read_tokens)


def prepare_language(scenario: Scenario, sources: Sources = _NO_SOURCES) -> PreparedLanguage:
    """Look up or read everything that the engines and requests of a scenario rest on.

    Raises ``NonaError`` for a scenario without such rows, a missing or bad file, a model that does not fit
    its GPUs.
    """
    if not scenario.language:
        raise ScenarioError(["workload: none of its rows has llm; add one that asks a language model."])
    sources.check(scenario)
    models = {row.llm.model: _model(row.llm.model, sources) for row in scenario.language}
    rows, warnings = _request_classes(scenario, sources)
    engines, facts = _engines(scenario, models, rows)
    specs = (group.engine for group in scenario.cluster.servers)
    first = {spec.first_token for spec in specs if spec is not None and spec.role == "prefill"}
    if len(first) > 1:
        raise ScenarioError(
            ["cluster.servers: engines of the role prefill differ in first_token; make them equal."]
        )
    discipline = scenario.cluster.network.discipline
    if discipline != "fifo" and any(engine.role != "both" for engine in engines):
        raise ScenarioError(
            [
                f"cluster.network.discipline: {discipline!r} is not for the KV of engines with roles, which "
                "is sent first come, first served; set fifo."
            ]
        )
    system = LanguageSystem(
        engines=tuple(engines),
        rows=tuple(rows),
        network=network_of(scenario, sum(group.count for group in scenario.cluster.servers)),
        seed=scenario.seed,
        first_token=next(iter(first), "decode"),
    )
    return PreparedLanguage(scenario, sources, system, tuple(facts), tuple(warnings))


def messages_over_links(scenario: Scenario, sources: Sources) -> Mapping[str, BackgroundStream]:
    """Return the messages of engines with roles over each link, by its name: keys and values that move."""
    apart = any(g.engine is not None and g.engine.role != "both" for g in scenario.cluster.servers)
    return prepare_language(scenario, sources).system.kv_messages if apart and scenario.language else {}


def _model(name: str, sources: Sources) -> LanguageModel:
    if is_config(name):
        return read_config(sources.read(name), PurePath(name).name)
    if name not in language_models():
        raise ScenarioError(
            [
                f"workload: {name!r} is not a known language model; use one of "
                f"{', '.join(language_models())}, or name a config.json."
            ]
        )
    return language_models()[name]


def _request_classes(scenario: Scenario, sources: Sources) -> tuple[list[RequestClass], list[str]]:
    classes, warnings = [], []
    prefixes = 0  # of the rows before; no two rows share one
    for number, (label, row) in enumerate(zip(scenario.language_labels, scenario.language, strict=True)):
        trace = None if row.llm.trace is None else _read(row.llm.trace, sources)
        if trace is not None:
            lengths = Lengths(trace.tokens, in_order=True, prefix=_moved(trace.prefix, prefixes))
            warnings += _cautions(label, trace)
        else:
            lengths = _drawn(row, RandomStreams(scenario.seed), label, prefixes)
        if lengths.prefix is not None:
            prefixes = max(prefixes, int(lengths.prefix[:, 0].max()) + 1)
        rate, after = row.rate, None
        if row.after is not None:
            after = scenario.labels.index(row.after)
            rate, arrivals = scenario.workload[after].rate, arrivals_of(scenario, after, sources)
        elif row.concurrency is not None:
            arrivals = Arrivals()
        elif trace is not None:
            arrivals = Arrivals(
                "trace", times_s=tuple(trace.times_s.tolist()), scale_to_rate=row.rate is not None
            )
        else:
            arrivals = arrivals_of(scenario, len(scenario.workload) + number, sources)
        classes.append(
            RequestClass(
                name=label,
                model=row.llm.model,
                rate=0.0 if row.concurrency is not None else effective_rate(arrivals, rate or 0.0),
                lengths=lengths,
                arrivals=arrivals,
                targets=Targets(row.slo.ttft, row.slo.tpot, row.slo.e2e),
                concurrency=row.concurrency or 0,
                priority=row.priority,
                after=after,
            )
        )
    return classes, warnings


def _read(name: str, sources: Sources) -> TokenTrace:
    return _tokens_of(sources.read(name), PurePath(name).name)


def _cautions(label: str, trace: TokenTrace) -> list[str]:
    lines = []
    if trace.left_out:
        lines.append(
            f"{label}: {trace.left_out:,} requests of the trace have no input or no output; left out."
        )
    if trace.spread:
        lines.append(
            f"{label}: {trace.spread:,} requests share instants; they are spread evenly between these."
        )
    if trace.prefix is not None:
        lines.append(
            f"{label}: of its blocks each request keeps one shared prefix; hits are a bound from below."
        )
    return lines


def _moved(prefix: Ints | None, first: int) -> Ints | None:
    """Return the prefixes numbered from ``first``."""
    if prefix is None or not (prefix[:, 0] >= 0).any():
        return None
    return np.column_stack((np.where(prefix[:, 0] >= 0, prefix[:, 0] + first, -1), prefix[:, 1]))


def _drawn(row: LanguageRow, streams: RandomStreams, label: str, first: int) -> Lengths:
    """Lengths of which any row is as probable as any other."""
    spec = row.llm.tokens or TokensSpec(input=LengthSpec(mean=1), output=LengthSpec(mean=1))
    groups = spec.prefix.groups if spec.prefix else 1
    alike = all(side.mean is not None and not side.cv for side in (spec.input, spec.output)) and groups == 1
    size = 1 if alike else DRAWS
    tokens = np.column_stack(
        [
            _of_parts(side, size, streams.generator("tokens", name, label))
            for name, side in (("input", spec.input), ("output", spec.output))
        ]
    )
    if spec.prefix is None:
        return Lengths(tokens)
    numbers = streams.generator("tokens", "prefix", label).permutation(size) % groups
    return Lengths(
        tokens, prefix=np.column_stack((numbers + first, np.minimum(tokens[:, 0], spec.prefix.tokens)))
    )


def _of_parts(spec: LengthSpec, size: int, rng: np.random.Generator) -> Ints:
    if spec.mean is None:
        return rng.permutation(np.resize(rng.permutation(spec.values), size)).astype(np.int64)
    if not spec.cv:
        return np.full(size, int(spec.mean), dtype=np.int64)
    from scipy.special import ndtri

    variance = np.log1p(spec.cv**2)
    normal = ndtri((rng.permutation(size) + 0.5) / size)
    tokens = np.exp(np.log(spec.mean) - variance / 2 + np.sqrt(variance) * normal)
    whole: Ints = np.clip(np.rint(tokens), 1, spec.most).astype(np.int64)
    return whole


def _engines(
    scenario: Scenario, models: Mapping[str, LanguageModel], rows: Sequence[RequestClass]
) -> tuple[list[Engine], list[EngineFacts]]:
    """Return the engines, group after group; their servers come after those that run tasks."""
    groups = scenario.cluster.servers
    server = sum(group.count for group in scenario.cluster.task_groups)
    engines: list[Engine] = []
    facts: list[EngineFacts] = []
    misfits: list[str] = []
    problems: list[str] = []
    for number, group in enumerate(groups):
        if group.engine is None:
            continue
        name = group.engine.model or next(iter(models))
        if name not in models:  # no row asks for it
            server += group.count
            continue
        basis, asking = _facts(scenario, number, models[name]), [row for row in rows if row.model == name]
        misfits += _misfits(group.engine, basis)
        problems += _too_long(group.engine, basis, asking)
        copies = group.gpus // group.engine.tp
        label = group.gpu if group.engine.role == "both" else f"{group.gpu} {group.engine.role}"
        for copy in range(group.count * copies):
            before = sum(engine.name.rpartition(" #")[0] == label for engine in engines)
            engines.append(_engine(group.engine, basis, f"{label} #{before + 1}", server + copy // copies))
            facts.append(replace(basis, warnings=tuple(_warnings(basis, engines[-1], asking))))
        server += group.count
    if problems:
        raise ScenarioError(misfits + problems)
    if misfits:
        raise MisfitError(misfits)
    return engines, facts


_PRECISION: Mapping[str, WeightPrecision] = MappingProxyType({"auto": "fp16", "model": "fp16"})
"""Language models ship in bf16, which is as wide and as fast as fp16."""


def _facts(scenario: Scenario, number: int, model: LanguageModel) -> EngineFacts:
    group = scenario.cluster.servers[number]
    spec, device = (
        group.engine or EngineSpec(),
        find_device(group.gpu, user_devices(scenario.cluster.devices)),
    )
    precision = _PRECISION.get(scenario.cost.precision, cast(WeightPrecision, scenario.cost.precision))
    of = widths(model, precision, spec.kv)
    budget, sequences = vllm_defaults(device)
    budget = budget if spec.budget == "auto" else spec.budget
    sequences = sequences if spec.sequences == "auto" else spec.sequences
    if spec.steps is None:
        steps = step_times(model, make_executor_class(device), spec.tp, of)
    else:
        steps = KnownSteps(StepTimes(**dict(spec.steps)), "given", 0.0, "the scenario")
    memory = visible_bytes(device)
    return EngineFacts(
        group=number,
        gpu=group.gpu,
        model=model,
        tp=spec.tp,
        budget=budget,
        sequences=sequences,
        steps=steps,
        memory=memory_split(
            model, memory, spec.utilization, spec.tp, of, budget, sequences, spec.graphs == "inside"
        ),
        least_tp=smallest_tp(model, memory, spec.utilization, of, budget),
    )


def _misfits(spec: EngineSpec, basis: EngineFacts) -> list[str]:
    """Return a line for each rule on the number of its GPUs that the engine breaks."""
    place, model, tp, lines = f"cluster.servers[{basis.group}].engine", basis.model, basis.tp, []
    if model.heads % tp:
        possible = ", ".join(str(n) for n in (1, 2, 4, 8, 16, 32) if model.heads % n == 0)
        lines.append(
            f"{place}.tp: {tp} must divide the {model.heads} heads of {model.name!r}; use {possible}."
        )
    if spec.blocks == "auto" and not basis.memory.blocks:
        remedy = f"the smallest tp that fits is {basis.least_tp}" if basis.least_tp else "take larger GPUs"
        lines.append(
            f"{place}.tp: {model.name!r} leaves no memory for KV on {tp} × {basis.gpu} "
            f"({basis.memory.weights / 1e9:.1f} GB of weights for {basis.memory.usable / 1e9:.1f} GB on "
            f"each); {remedy}."
        )
    return lines


def _too_long(spec: EngineSpec, basis: EngineFacts, rows: Sequence[RequestClass]) -> list[str]:
    """Return a line where prompts are computed whole and a step does not hold the longest."""
    longest = max((int(row.lengths.tokens[:, 0].max()) for row in rows), default=0)
    if not spec.chunked and basis.budget < longest:
        return [
            f"cluster.servers[{basis.group}].engine.budget: {basis.budget:,} must be at least the longest "
            f"prompt, {longest:,} tokens, as prompts are computed whole; raise it, or set chunked to true."
        ]
    return []


def _engine(spec: EngineSpec, basis: EngineFacts, name: str, server: int) -> Engine:
    return Engine(
        name=name,
        model=spec.model or basis.model.name,
        steps=basis.steps.times,
        blocks=basis.memory.blocks if spec.blocks == "auto" else spec.blocks,
        server=server,
        budget=basis.budget,
        sequences=basis.sequences,
        chunked=spec.chunked,
        watermark=spec.watermark,
        order=spec.scheduler,
        role=spec.role,
        lookahead=spec.lookahead,
        shares_prefixes=spec.prefix_cache == "share",
        kv_bytes=basis.memory.kv_block / BLOCK_TOKENS * basis.tp,
    )


def _warnings(basis: EngineFacts, engine: Engine, rows: Sequence[RequestClass]) -> Iterator[str]:
    yield from (f"{basis.model.name}: {note}." for note in basis.model.notes)
    if engine.blocks > basis.memory.blocks:
        memory = basis.memory
        estimate = (
            f"room for {memory.blocks:,}"
            if memory.blocks
            else f"no room for KV beside {format_size(memory.weights)} of weights on {basis.gpu}"
        )
        yield (
            f"Simulations use the {engine.blocks:,} KV blocks given, but the estimate of memory finds "
            f"{estimate}; check model, GPU and blocks against what the engine prints."
        )
    if basis.steps.provenance == "modelled":
        yield (
            f"Step times of {basis.model.name} on {basis.tp} × {basis.gpu} are modelled, ± "
            f"{share_text(basis.steps.error)}; give engine.steps for your own."
        )
    for row in rows:
        tokens = row.lengths.tokens.sum(axis=1)
        share = float((-(-tokens // BLOCK_TOKENS) > engine.blocks).mean())
        if share:
            yield (
                f"{share_text(share, 1)} of the requests of {row.name} need more than its "
                f"{engine.kv_tokens:,} tokens of KV (up to {int(tokens.max()):,}); they are refused."
            )
