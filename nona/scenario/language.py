"""Language models in a scenario: the rows of requests, and the engines that serve them.

In a file these rows stand in ``workload`` beside the others, told by their key ``llm``, and routers in
``schedulers``. Reading moves them to fields of their own, writing moves them back (:data:`IN_FILE`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.scenario.gate import Place
from nona.scenario.rows import ArrivalsSpec
from nona.scenario.values import Name, PositiveSeconds, Rate, ScenarioPart, Seconds, Share, field, named_entry

UTILIZATION = 0.92
"""Share of a GPU's memory that vLLM takes, CUDA graphs included: vllm/config/cache.py, from 0.21 on (pull
request 38284); before, 0.9 without them."""
PREFIX_CACHE: Literal["off", "share"] = "share"
"""enable_prefix_caching is on in vllm/config/cache.py since the V1 engine became the usual one, vLLM 0.8."""
ROUTERS = ("round-robin", "least-requests", "least-kv", "prefix-affinity", "kv-live")
MOST_TOKENS = 1_000_000
Tokens = Annotated[int, Field(ge=1, le=MOST_TOKENS)]


class LengthSpec(ScenarioPart):
    """Tokens of a request: a number, numbers one of which is drawn, or a log-normal distribution."""

    mean: Annotated[float, Field(ge=1, le=MOST_TOKENS)] | None = field(
        None, "Mean tokens", "Of a prompt or an answer, e.g. 512.", none="that of the values"
    )
    cv: Annotated[float, Field(ge=0, le=20)] = field(
        0.0, "CV of tokens", "0: all are alike; else log-normal. Chat has about 1."
    )
    most: Tokens = field(
        32_768, "Most tokens", "Longer draws are cut to it, as a limit of the model or of users does."
    )
    values: Annotated[tuple[Tokens, ...], Field(max_length=100_000)] = field(
        (), "Values", "Tokens of requests that were seen; one is drawn each time. In a file also just a list."
    )

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.mean is None) == (not self.values):
            raise PydanticCustomError("tokens", "tokens need a mean or values; give one of them")
        if self.values and self.cv:
            raise PydanticCustomError("tokens", "cv is of a mean, not of values; leave one of them out")
        if self.mean is not None and self.cv == 0 and self.mean != int(self.mean):
            raise PydanticCustomError(
                "tokens", "{mean} tokens must be a whole number; round it", {"mean": f"{self.mean:g}"}
            )
        return self


def _length(value: object) -> object:
    if isinstance(value, list | tuple):
        return {"values": value}
    return {"mean": value} if isinstance(value, int | float | str) and not isinstance(value, bool) else value


Length = Annotated[LengthSpec, BeforeValidator(_length)]


class PrefixSpec(ScenarioPart):
    """Tokens with which many prompts begin, such as instructions or a document."""

    tokens: Tokens = field(..., "Tokens", "Of each prompt, at its beginning; part of its input tokens.")
    groups: int = field(1, "Prefixes", "So many are there, one is drawn for each request.", ge=1, le=100_000)


class TokensSpec(ScenarioPart):
    """Tokens of the requests of a row."""

    input: Length = field(..., "Input tokens", "Of a prompt, e.g. 512; more, later first tokens.")
    output: Length = field(..., "Output tokens", "Of an answer, e.g. 128; more, longer answers.")
    prefix: PrefixSpec | None = field(
        None, "Shared prefix", "Engines that share prefixes compute it once.", none="prompts share nothing"
    )


class LlmSpec(ScenarioPart):
    """The language model that a row asks, and the lengths of its requests."""

    model: Name = field(
        ..., "Language model", "One that is known, e.g. llama-3.1-8b, or a config.json beside the scenario."
    )
    tokens: TokensSpec | None = field(None, "Tokens", "Lengths of the requests.", none="those of the trace")
    trace: Name | None = field(
        None,
        "Trace of requests",
        "File with arrivals, input and output tokens: CSV, Azure's, BurstGPT's, Mooncake's, GuideLLM's.",
        none="lengths are drawn",
    )

    @_model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.tokens is None) == (self.trace is None):
            raise PydanticCustomError("llm", "a row has tokens or a trace with them; give one of the two")
        return self


class TargetsSpec(ScenarioPart):
    """Service levels of a request; it is good if it keeps all of them."""

    ttft: PositiveSeconds | None = field(
        None, "Time to first token", "Longest allowed, from the arrival, e.g. 500 ms.", none="none"
    )
    tpot: PositiveSeconds | None = field(
        None, "Time per output token", "Longest mean allowed after the first, e.g. 50 ms.", none="none"
    )
    e2e: PositiveSeconds | None = field(
        None, "Time to last token", "Longest allowed, from the arrival, e.g. 30 s.", none="none"
    )


def _targets(value: object) -> object:
    return value if value is None or isinstance(value, Mapping | TargetsSpec) else {"e2e": value}


_OF_ROW = ("slo", "rate", "arrivals", "priority", "concurrency", "after")


class LanguageRow(ScenarioPart):
    """One class of requests to a language model: a row of the workload with the key llm."""

    llm: LlmSpec = field(..., "Requests", "The model that is asked, and the lengths of its requests.")
    rate: Rate | None = field(
        None,
        "Rate",
        "Mean requests per second, e.g. 3/s. A trace is stretched to it.",
        none="the trace's own, each request of it once",
    )
    concurrency: Annotated[int, Field(ge=1, le=100_000)] | None = field(
        None,
        "Concurrency",
        "Closed loop in place of a rate: so many users, each with one request at a time; it cannot overload.",
        none="open loop",
    )
    after: Name | None = field(
        None,
        "After the queries of",
        "Row of tasks whose queries each send a request once they are done, as retrieval does before an "
        "answer. Times count from the arrival of the query.",
        none="requests of their own",
    )
    arrivals: ArrivalsSpec = field(ArrivalsSpec(), "Arrivals", "How the requests of this row arrive.")
    slo: Annotated[TargetsSpec, BeforeValidator(_targets)] = field(
        TargetsSpec(), "SLO", "Targets that a good request keeps; a time alone is that to the last token."
    )
    priority: int = field(0, "Priority", "Engines admit lower numbers first.", ge=-1000, le=1000)
    name: Name | None = field(
        None, "Name", "For people, and for this row's random numbers.", none="the model's"
    )

    @property
    def label(self) -> str:
        """Name for people: the given one, else the model's without folder and ``.json``."""
        return self.name or PurePath(self.llm.model).name.removesuffix(".json")

    @_model_validator(mode="before")
    @classmethod
    def _from_inside(cls, value: object) -> object:
        """Take what may also stand inside ``llm``."""
        if not isinstance(value, Mapping) or not isinstance(llm := value.get("llm"), Mapping):
            return value
        inside = {key: llm[key] for key in _OF_ROW if key in llm}
        for key in inside:
            if key in value:
                raise PydanticCustomError("llm", f"{key} stands in the row and in llm; remove one")
        return {**value, "llm": {key: v for key, v in llm.items() if key not in inside}, **inside}

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.rate is not None and self.concurrency is not None:
            raise PydanticCustomError("row", "rate opens the loop, concurrency closes it; leave one out")
        if self.after is not None and (self.rate or self.concurrency or self.llm.trace):
            raise PydanticCustomError(
                "row", "after brings the requests' arrivals; leave out rate, concurrency and llm.trace"
            )
        if self.rate is None and self.concurrency is None and self.llm.trace is None and self.after is None:
            raise PydanticCustomError("row", "rate is missing; give for example 3/s, or a concurrency")
        if self.arrivals != ArrivalsSpec() and (self.concurrency or self.llm.trace or self.after):
            why = "those of llm.trace hold" if self.llm.trace else "requests come when others end"
            raise PydanticCustomError("row", f"arrivals do not count here, {why}; leave them out")
        return self


Times = Annotated[Seconds, Field(le=100)]


class StepsSpec(ScenarioPart):
    """Seconds of a step of one's own: a + e·touched + b·decodes + g·Σ kv + c·prefill + q·Σ x·(past + x/2)."""

    a: Times = field(..., "a, each step", "Weights are read, kernels are started, e.g. 6.4 ms.")
    b: Times = field(0.0, "b, each decode", "For each answer that gets a token, e.g. 11 us.")
    g: Times = field(0.0, "g, each token read", "Of the KV cache, for each token of a decode, e.g. 42 ns.")
    c: Times = field(0.0, "c, each prompt token", "That is computed, e.g. 18 us.")
    q: Times = field(0.0, "q, each pair of prompt tokens", "Attention within a prompt, e.g. 1.7 ns.")
    e: Times = field(0.0, "e, each expert", "That a token of the step takes, e.g. 2 ms.")
    experts: int = field(0, "Experts", "Of a mixture; 0: none.", ge=0, le=10_000)
    active: int = field(0, "Experts of a token", "So many of them each token takes.", ge=0, le=10_000)

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.active > self.experts or (self.e > 0) != (self.active > 0):
            raise PydanticCustomError(
                "steps",
                "e {e} with active {active} of {experts} experts: it needs 1 ≤ active ≤ experts; give all",
                {"e": f"{self.e:g} s", "active": self.active, "experts": self.experts},
            )
        return self


def _auto_or_whole(value: object) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1_000_000_000
    if value != "auto" and not whole:
        raise PydanticCustomError(
            "auto", "{value} must be 'auto' or a whole number from 1 to 10^9", {"value": repr(value)}
        )
    return value


Auto = Annotated[Literal["auto"] | int, BeforeValidator(_auto_or_whole)]
PrefixCache = Annotated[
    Literal["off", "share"], BeforeValidator(lambda v: "off" if v is False else v)  # as YAML 1.1 reads off
]


class EngineSpec(ScenarioPart):
    """The engine of a language model on each server of a group; it runs no tasks of other models."""

    model: Name | None = field(
        None, "Language model", "That it serves, where rows ask for several.", none="that of the rows"
    )
    tp: int = field(
        1,
        "Tensor parallel",
        "GPUs that run one copy together; a server has gpus / tp copies. More: faster steps, less work done.",
        ge=1,
        le=64,
    )
    blocks: Auto = field(
        "auto",
        "KV blocks",
        "Of 16 tokens, for the keys and values of running requests. Automatic: what memory leaves; better "
        "give what your engine prints.",
        choices={"auto": "automatic"},
    )
    budget: Auto = field(
        "auto",
        "Token budget",
        "Most tokens of a step. More: earlier first tokens, longer pauses of answers. Automatic: vLLM's, "
        "8,192 where a GPU has 70 GiB and is no A100, else 2,048.",
        choices={"auto": "automatic"},
    )
    sequences: Auto = field(
        "auto",
        "Requests at a time",
        "That run at most. Automatic: vLLM's, 1,024 where a GPU has 70 GiB and is no A100, else 256.",
        choices={"auto": "automatic"},
    )
    chunked: bool = field(
        True,
        "Prompts are",
        "Split over steps, which decodes join, or computed whole.",
        choices={False: "computed whole", True: "split over steps"},
    )
    watermark: Annotated[Share, Field(ge=0, le=0.5)] = field(
        0.0, "Watermark", "Share of the blocks that stays free when a request is admitted beside others."
    )
    scheduler: Literal["vllm", "sglang", "static"] = field(
        "vllm",
        "Scheduler",
        "Of steps. vLLM: decodes and prompts in one step. SGLang: prompts first, decodes pause. Static: "
        "no request joins before the whole batch has ended.",
        choices={"vllm": "vLLM", "sglang": "SGLang", "static": "static batches"},
    )
    role: Literal["both", "prefill", "decode"] = field(
        "both",
        "Role",
        "Both, or prompts on some engines and answers on others; then KV crosses the network.",
        choices={"both": "both", "prefill": "prompts", "decode": "answers"},
    )
    first_token: Literal["prefill", "decode"] = field(
        "decode",
        "First token from",
        "The side that hands it out. Prompts: at once, KV is sent before the second. Answers: once KV is "
        "there, as vLLM does.",
        choices={"prefill": "prompts", "decode": "answers"},
        when=("role", ["prefill"]),
    )
    prefix_cache: PrefixCache = field(
        PREFIX_CACHE,
        "Prefix cache",
        "Blocks of equal prefixes are kept and used again.",
        choices={"off": "off", "share": "shared"},
    )
    lookahead: bool = field(
        False,
        "Composed ahead",
        "The next step is composed while one runs: who comes meanwhile joins the one after.",
        choices={False: "no", True: "yes"},
    )
    utilization: Annotated[Share, Field(gt=0, le=1)] = field(
        UTILIZATION,
        "Memory used",
        "Share of each GPU's memory that the engine takes, CUDA graphs included, where blocks are automatic.",
    )
    graphs: Literal["inside", "outside"] = field(
        "inside",
        "CUDA graphs",
        "Within Memory used, as vLLM counts them from 0.21 on, or outside: before it, without the estimate, "
        "or with --enforce-eager.",
        choices={"inside": "within", "outside": "outside"},
    )
    kv: Literal["auto", "fp8"] = field(
        "auto",
        "KV cache",
        "Width of keys and values. 8 bits hold twice as many tokens. Automatic: 16 bits, as vLLM does.",
        choices={"auto": "16 bits", "fp8": "8 bits (fp8)"},
    )
    steps: StepsSpec | None = field(
        None, "Step times", "Your own constants.", none="measured ones where there are, else modelled"
    )


_OFFERED = ("budget", "sequences", "chunked", "watermark", "scheduler", "prefix_cache", "lookahead")


class EngineOfferSpec(EngineSpec):
    """Settings of engines that a plan may choose; what is not given is the default."""

    roles: Literal["together", "apart"] = field(
        "together",
        "Prefill and decode",
        "Each server computes prompts and answers; or these roles have servers of their own, and the plan "
        "says how many of each. KV then crosses the cluster's network.",
        choices={"together": "together", "apart": "on servers apart"},
    )

    @_model_validator(mode="after")
    def _alike(self) -> Self:
        if others := sorted(self.model_dump(exclude_defaults=True).keys() - {*_OFFERED, "roles"}):
            raise PydanticCustomError(
                "engines",
                "{key} is not a setting to choose from here; leave it out, or take one of {those}",
                {"key": others[0], "those": ", ".join((*_OFFERED, "roles"))},
            )
        return self

    def engines(self, model: str | None) -> tuple[EngineSpec, ...]:
        """Return the engines with these settings that serve a model, one of each role."""
        settings = self.model_dump(include=set(_OFFERED)) | {"model": model}
        roles = ("prefill", "decode") if self.roles == "apart" else ("both",)
        return tuple(EngineSpec.model_validate(settings | {"role": role}) for role in roles)

    @property
    def text(self) -> str:
        """Say what differs from the default."""
        parts = [
            f"{name.replace('_', ' ')} {value:,}" if isinstance(value, int) and not isinstance(value, bool)
            else f"{name.replace('_', ' ')} {value}"
            for name, value in self.model_dump(exclude_defaults=True).items()
        ]  # fmt: skip
        return ", ".join(parts) or "defaults"


def unserved(rows: Sequence[LanguageRow], engines: Sequence[EngineSpec | None]) -> str:
    """Say in one line why no engine serves some row; empty where all are served.

    ``engines`` are those of the server groups, in their order.
    """
    models = list(dict.fromkeys(row.llm.model for row in rows))
    for i, engine in enumerate(engines):
        if engine is not None and engine.model is None and len(models) > 1:
            return (
                f"cluster.servers[{i}].engine: model is missing, as rows ask for {', '.join(models)}; "
                "name one of them"
            )
    for model in models:
        roles = {e.role for e in engines if e is not None and e.model in (None, model)}
        if not roles:
            return (
                f"cluster.servers: no engine serves {model!r}, for which a row asks; give a group an engine"
            )
        if len(roles & {"prefill", "decode"}) == 1:
            (one,) = roles & {"prefill", "decode"}
            other = "decode" if one == "prefill" else "prefill"
            return (
                f"cluster.servers: {model!r} has engines of the role {one} and none of the role {other}; "
                f"give another group engine: {{role: {other}}}, or the role both"
            )
    return ""


def _is_language_row(entry: object) -> bool:
    return isinstance(entry, LanguageRow) or (isinstance(entry, Mapping) and "llm" in entry)


def _is_router(entry: object) -> bool:
    named = named_entry(entry)
    return (named.get("name") if isinstance(named, Mapping) else getattr(named, "name", "")) in ROUTERS


IN_FILE: Mapping[str, str] = MappingProxyType({"language": "workload", "routers": "schedulers"})
"""Field of the scenario → list of the file in which its entries stand beside others."""
_MOVED: Mapping[str, Callable[[object], bool]] = MappingProxyType(
    {"language": _is_language_row, "routers": _is_router}
)


def moved_apart(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Move language rows and routers out of the lists of a file into fields of their own.

    >>> moved_apart({"schedulers": ["nona", "least-kv"]})
    {'schedulers': ['nona'], 'routers': ['least-kv']}
    """
    apart = dict(data)
    for own, key in IN_FILE.items():
        entries, mine, moves = data.get(key, ()), data.get(own, ()), _MOVED[own]
        if not (isinstance(entries, list | tuple) and isinstance(mine, list | tuple)):
            continue
        if moved := [entry for entry in entries if moves(entry)]:
            apart[key] = [entry for entry in entries if not moves(entry)]
            apart[own] = [*mine, *moved]
            if not apart[key]:
                del apart[key]
    return apart


def moved_together(data: Mapping[str, Any]) -> dict[str, Any]:
    """Undo :func:`moved_apart`: the other entries of each list come first."""
    together: dict[str, Any] = {}
    for key, value in data.items():
        place = IN_FILE.get(key, key)
        together[place] = [*together[place], *value] if place in together else value
    return together


def written_place(place: Place, data: object) -> Place:
    """Return where a file that holds ``data`` has what the schema has at ``place``.

    >>> written_place(("language", 0, "slo"), {"workload": [{"model": "a"}, {"llm": {"slo": -1}}]})
    ('workload', 1, 'llm', 'slo')
    """
    own = next((own for own, key in IN_FILE.items() if place[:1] in ((own,), (key,))), "")
    if not own or not isinstance(data, Mapping) or not isinstance(entries := data.get(IN_FILE[own]), list):
        return place
    moved, number = place[0] == own, place[1] if len(place) > 1 else -1
    written = [i for i, entry in enumerate(entries) if _MOVED[own](entry) == moved]
    nth = number - (len(data.get(own, ())) if moved else 0) if isinstance(number, int) else -1
    if not 0 <= nth < len(written):
        return place
    row = entries[written[nth]]
    llm = row.get("llm") if moved and isinstance(row, Mapping) else None
    inside = isinstance(llm, Mapping) and len(place) > 2 and place[2] in _OF_ROW and place[2] in llm
    return (IN_FILE[own], written[nth], *(("llm",) if inside else ()), *place[2:])
