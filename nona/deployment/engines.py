"""Engines of language models, joined with servers, loads and KV blocks: groups and rows of a scenario."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nona.cluster.hardware.device import Device, devices
from nona.deployment.facts import ASKED, Ledger, placeholder
from nona.deployment.found import Found, FoundEngine, FoundLoad, FoundServers
from nona.language.gpu import MemorySplit, WeightPrecision, memory_split, visible_bytes, vllm_defaults, widths
from nona.language.models import LanguageModel, language_models, read_config
from nona.language.system import BLOCK_TOKENS
from nona.scenario.language import EngineSpec

SMALLEST_STEP = 2048
"""Tokens of a step, by vLLM's defaults."""


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What engines are in a scenario.

    ``groups``: of their own; ``shared``: settings of the engine on the servers that were found, if there is
    one for them; ``rows``: requests.
    ``small``: devices without room for the shared engine.
    """

    groups: tuple[dict[str, Any], ...] = ()
    shared: Mapping[str, Any] | None = None
    tp: int = 1
    rows: tuple[dict[str, Any], ...] = ()
    names: tuple[str, ...] = ()
    precision: str = ""
    place: str = ""
    small: frozenset[str] = frozenset()

    def groups_with(self, found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the groups of servers: those found, with the engine where it fits, and those of engines."""
        if self.shared is None:
            return [*found, *self.groups]
        return [
            group
            if "mig" in group or "mps" in group or group["gpus"] % self.tp or group["gpu"] in self.small
            else {**{k: v for k, v in group.items() if k != "instances"}, "engine": dict(self.shared)}
            for group in found
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Room:
    """The memory that an engine takes of each GPU; ``shape``: of its model, where that is known."""

    shape: LanguageModel | None
    spec: EngineSpec
    precision: WeightPrecision = "fp16"

    def holds(self, gpu: str) -> bool:
        """Return whether a GPU has room for weights and cache, or may have."""
        device = devices().get(gpu)
        split = None if device is None else self._split(device)
        return split is None or split.blocks >= self._blocks

    @property
    def needs(self) -> str:
        """What it takes on each GPU, in words; empty where that is not known."""
        split = self._split(next(iter(devices().values())))
        if split is None:
            return ""
        known = self.spec.blocks != "auto"
        cache = f"{self._blocks * split.kv_block / 1e9:.3g} GB of cache" if known else "a cache"
        return f"{split.weights / 1e9:.3g} GB of weights and {cache}"

    @property
    def _blocks(self) -> int:
        """Blocks of its cache: as a file says, else those that one step fills."""
        if self.spec.blocks != "auto":
            return self.spec.blocks
        return -(-(SMALLEST_STEP if self.spec.budget == "auto" else self.spec.budget) // BLOCK_TOKENS)

    def _split(self, device: Device) -> MemorySplit | None:
        if self.shape is None:
            return None
        budget, sequences = vllm_defaults(device)
        of, numbers = self.spec, widths(self.shape, self.precision, self.spec.kv)
        return memory_split(
            self.shape, visible_bytes(device), of.utilization, of.tp, numbers,
            budget if of.budget == "auto" else of.budget,
            sequences if of.sequences == "auto" else of.sequences, of.graphs == "inside",
        )  # fmt: skip


def engine_parts(found: Found, others: bool, files: Mapping[str, bytes], ledger: Ledger) -> EngineParts:
    """Return the engines that were found, and the requests to them.

    ``others``: tasks need servers too; ``files``: the models' ``config.json`` among them.
    """
    loads = [load for load in found.loads if load.tokens or load.trace]
    engines = list(found.engines)
    if not engines:
        loads = [load for load in loads if not ledger.left_out(load.service, "llm")]
        engines = [_engine_of(load, ledger) for load in loads]
        loads = [replace(load, service=_called(e)) for load, e in zip(loads, engines, strict=True)]
    _report_unserved(engines, loads, ledger)
    engines = [e for e in engines if not ledger.left_out(_called(e), "rate", "gpu")]
    if not engines:
        return EngineParts()
    whole = [s for s in found.servers if not s.mig and not s.mps]
    names = [_unlike(_called(e), [_called(x) for x in engines[:i]]) for i, e in enumerate(engines)]
    settings = [_settings(e, engines, found, ledger) for e in engines]
    rooms = [_room(e, own, files) for e, own in zip(engines, settings, strict=True)]
    gpus, tp = tuple(dict.fromkeys(s.gpu for s in whole if s.gpu)), _tp(engines[0])
    small = frozenset(gpu for gpu in gpus if not rooms[0].holds(gpu))
    shared = (
        len(engines) == 1
        and not others
        and engines[0].servers is None
        and any(s.gpus % tp == 0 and s.gpu not in small for s in whole)
    )
    if shared and small:
        ledger.not_used(f"{engines[0].model}: its engine on {', '.join(sorted(small))}",
                        f"no room for {rooms[0].needs}", engines[0].place)  # fmt: skip
    groups = () if shared else tuple(
        _group(name, engine, own, room, found.servers, ledger)
        for name, engine, own, room in zip(names, engines, settings, rooms, strict=True)
    )  # fmt: skip
    rows, labels = [], list[str]()
    for engine in engines:
        if engine.model not in labels:
            labels.append(engine.model)
            rows.append(_row(engine, _load_of(engine, engines, loads), ledger))
    plain = [e for e in engines if not e.model.endswith(".json")]
    precision = "fp8" if plain and all(e.precision == "fp8" for e in plain) else ""
    return EngineParts(
        groups,
        settings[0] if shared else None,
        tp,
        tuple(rows),
        tuple(labels),
        precision,
        engines[0].place,
        small,
    )


def _room(engine: FoundEngine, settings: Mapping[str, Any], files: Mapping[str, bytes]) -> _Room:
    shape = language_models().get(engine.model)
    if shape is None and engine.model in files:
        shape = read_config(files[engine.model], engine.model)
    spec = EngineSpec.model_validate({key: value for key, value in settings.items() if key != "model"})
    return _Room(shape, spec, "fp8" if engine.precision == "fp8" else "fp16")


def _called(engine: FoundEngine) -> str:
    """Return the name of an engine's model; while that is asked, the name that its file has."""
    if not engine.model.startswith(ASKED):
        return engine.model
    return engine.model.removeprefix(ASKED).rpartition(".")[0]


def _tp(engine: FoundEngine) -> int:
    tp = engine.settings.get("tp", 1)
    return tp if isinstance(tp, int) else 1


def _unlike(name: str, before: Sequence[str]) -> str:
    return name if name not in before else f"{name}#{before.count(name) + 1}"


def _engine_of(load: FoundLoad, ledger: Ledger) -> FoundEngine:
    """Return an engine with the usual settings for requests that were seen."""
    known = like(load.service)
    if not known:
        answer = ledger.ask(
            f"{load.service}.llm",
            f"known language model that {load.service} is (none: leave it out)",
            load.place,
        )
        known = str(answer) if answer is not None else f"{ASKED}{load.service}.llm"
    ledger.assume(f"{load.service}: engine", f"one of {known} with the usual settings", load.place)
    return FoundEngine(known, {}, load.place)


def like(name: str) -> str:
    """Return the known language model with all its words in a name; empty where there is none.

    >>> like("meta-llama/Llama-3.1-8B-Instruct"), like("mine")
    ('llama-3.1-8b', '')
    """
    words = set(re.split(r"[-_/ ]+", name.lower()))
    known = [k for k in language_models() if set(k.split("-")) <= words]
    return max(known, key=len, default="")


def _settings(
    engine: FoundEngine, engines: Sequence[FoundEngine], found: Found, ledger: Ledger
) -> dict[str, Any]:
    settings = dict(engine.settings)
    role = settings.get("role", "both")
    partner = {"prefill": "decode", "decode": "prefill"}.get(str(role))
    if partner and not any(e.settings.get("role") == partner and e.model == engine.model for e in engines):
        ledger.not_used(
            f"{engine.model}: role",
            f"{role}: no engine of the role {partner} is among the files",
            engine.place,
        )
        del settings["role"]
    if len({e.model for e in engines}) > 1:
        settings["model"] = engine.model
    blocks = [n for name, n in found.blocks.items() if _is_of(name, engine, engines)]
    if blocks and "blocks" not in settings:
        settings["blocks"] = blocks[0]
    return settings


def _group(
    name: str,
    engine: FoundEngine,
    settings: Mapping[str, Any],
    room: _Room,
    servers: Sequence[FoundServers],
    ledger: Ledger,
) -> dict[str, Any]:
    if (own := engine.servers) is not None:
        placed = {
            "count": own.count,
            "gpu": own.gpu or f"{ASKED}{name}.gpu",
            "gpus": own.gpus,
            "vcpus": own.vcpus,
        }
        return placed | {"engine": dict(settings)}
    key = f"{name}.gpu"
    gpus = tuple(dict.fromkeys(s.gpu for s in servers if s.gpu and s.has_whole))
    gpu: str | None = engine.gpu or None
    if gpu is None:
        hint = next((g for g in gpus if room.shape and room.holds(g)), None)
        gpu = ledger.device(key, _gpu_question(name, room, gpus), engine.place, hint) or None
    count = engine.count
    if count is None:
        count = int(float(ledger.assume(f"{name}: engines", 1, engine.place, "count", f"{name}.count")))
    tp = _tp(engine)
    if servers:
        ledger.assume(
            f"{name}: its GPUs", f"{count * tp} beside those of the servers that were found", engine.place
        )
    return {"count": count, "gpu": placeholder(gpu, key, "text"), "gpus": tp, "engine": dict(settings)}


def _gpu_question(name: str, room: _Room, gpus: Sequence[str]) -> str:
    """Return which GPU is asked for, and which of those among the servers have room for the engine."""
    fits = [gpu for gpu in gpus if room.holds(gpu)]
    there = f", which fit on {', '.join(fits) or 'none of the servers'}" if gpus else ""
    needs = f": {room.needs}{there}" if room.needs else ""
    return f"device of the GPUs of {name}{needs} (none: leave it out)"


def _is_of(name: str, engine: FoundEngine, engines: Sequence[FoundEngine]) -> bool:
    """Return whether what was seen under a name is of this engine's model.

    A name that is no known model may be that under which the only model is served.
    """
    known = like(name)
    if _called(engine) in (name, known):
        return True
    return not known and len({e.model for e in engines}) == 1


def _load_of(
    engine: FoundEngine, engines: Sequence[FoundEngine], loads: Sequence[FoundLoad]
) -> FoundLoad | None:
    mine = [load for load in loads if _is_of(load.service, engine, engines)]
    named = [load for load in mine if _called(engine) in (load.service, like(load.service))]
    return next(iter(named or mine[: len(mine) == 1]), None)


def _report_unserved(engines: Sequence[FoundEngine], loads: Sequence[FoundLoad], ledger: Ledger) -> None:
    used = [_load_of(engine, engines, loads) for engine in engines]
    for load in loads:
        if not any(load is other for other in used):
            ledger.not_used(
                f"{load.service}: requests", "no engine of this model is among the files", load.place
            )


def _row(engine: FoundEngine, load: FoundLoad | None, ledger: Ledger) -> dict[str, Any]:
    model, of = engine.model, _called(engine)
    llm: dict[str, Any] = {"model": model}
    row: dict[str, Any] = {"name": of.removesuffix(".json"), "llm": llm}
    if load is not None and load.trace:
        return row | {"llm": llm | {"trace": load.trace}}
    llm["tokens"] = {key: _length(key, of, engine.place, load, ledger) for key in ("input", "output")}
    if load is not None and load.concurrency is not None:
        return row | {"concurrency": load.concurrency}
    key = f"{of}.rate"
    if load is not None and load.rate is not None:
        given = ledger.assume(f"{of}: traffic is as it was seen", load.rate, load.place, "rate", key)
        return row | {"rate": placeholder(given, key, "rate")}
    rate = ledger.number(key, f"requests to {of} (none: leave it out)", engine.place, "rate")
    return row | {"rate": placeholder(rate, key, "rate")}


def _length(which: str, model: str, place: str, load: FoundLoad | None, ledger: Ledger) -> Any:
    """Return the tokens of prompts or answers; numbers alone are all alike."""
    mean = load.tokens.get(which) if load else None
    if load is None or mean is None:
        key = f"{model}.{which}"
        value = ledger.number(key, f"mean {which} tokens of a request to {model}", place, "count")
        return f"{ASKED}{key}" if value is None else int(value)
    cv = load.tokens.get(f"{which}_cv")
    if cv is None:
        cv = float(
            ledger.assume(f"{model}: CV of {which} tokens", 1, load.place, "number", f"{model}.{which}_cv")
        )
    if not cv:
        return max(1, round(mean))
    return {"mean": float(f"{max(1.0, mean):.6g}"), "cv": float(f"{cv:.3g}")}
