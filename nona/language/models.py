"""Language models by their hyper-parameters: those that are known, and users' own ``config.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from nona.cluster.hardware.table_file import shipped_table
from nona.core.errors import GraphError, suggestion
from nona.language.quantization import Quantization, read_quantization
from nona.scenario.gate import entries, mapping
from nona.scenario.lookup import is_config

MOST_PARAMETER = 10_000_000
MOST_CONFIG_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A decoder of ``layers`` with grouped-query attention.

    ``heads`` query heads and ``kv_heads`` for keys and values are ``head_dim`` wide; a feed-forward layer has
    ``mlp`` matrices (3: gated) of ``hidden`` × ``ff``, once for each of its ``experts``, of which a token
    takes ``active``. ``tied``: the embedding is the output's matrix too. ``positions`` are learned ones.
    ``quantization``: of the matrices of layers, where they are narrower than all else. ``attending``: layers
    that keep keys and values, where others do not (0: all). ``notes``: parts of its file that are left out.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ff: int
    vocabulary: int
    mlp: Literal[2, 3] = 3
    tied: bool = False
    positions: int = 0
    experts: int = 0
    active: int = 0
    label: str = ""
    quantization: Quantization | None = None
    attending: int = 0
    notes: tuple[str, ...] = ()

    def alike(self, other: LanguageModel) -> bool:
        """Return whether the other has equal hyper-parameters, whatever its name."""
        return replace(self, name="", label="", notes=()) == replace(other, name="", label="", notes=())

    @property
    def attention_weights(self) -> int:
        """Number of parameters of all attention layers."""
        return self.layers * 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads)

    @property
    def feed_forward_weights(self) -> int:
        """Weights of the feed-forward layers, of one expert each."""
        return self.layers * self.mlp * self.hidden * self.ff

    @property
    def parameters(self) -> int:
        """All weights; biases and norms are left out.

        >>> round(language_models()["llama-3.1-8b"].parameters / 1e9, 2)
        8.03
        """
        return self.layer_weights + self.other_weights

    @property
    def layer_weights(self) -> int:
        """Weights of the matrices of all layers, which quantization makes narrower."""
        return self.attention_weights + max(self.experts, 1) * self.feed_forward_weights

    @property
    def other_weights(self) -> int:
        """Weights of embeddings, the output and the routers of experts, which stay as they are."""
        embeddings = self.hidden * (self.vocabulary * (1 if self.tied else 2) + self.positions)
        return self.layers * self.hidden * self.experts + embeddings

    @property
    def used_by_a_token(self) -> int:
        """Weights with which one token is multiplied, those of the output among them."""
        output = self.hidden * self.vocabulary
        return self.attention_weights + max(self.active, 1) * self.feed_forward_weights + output

    def kv_bytes(self, width: float) -> float:
        """Bytes of a token's keys and values, numbers of ``width`` bytes.

        >>> language_models()["llama-3.1-8b"].kv_bytes(2), language_models()["gpt2"].kv_bytes(2)
        (131072, 36864)
        """
        return 2 * self.kv_layers * self.kv_heads * self.head_dim * width

    @property
    def kv_layers(self) -> int:
        """Layers that keep keys and values."""
        return self.attending or self.layers


@cache
def language_models() -> Mapping[str, LanguageModel]:
    """Return the models that ship, by name."""
    whole = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ff", "vocabulary", "mlp", "positions")
    rows = shipped_table("nona.language", "data/models.csv")
    return MappingProxyType(
        {
            row["model"]: LanguageModel(
                name=row["model"],
                label=row["label"],
                tied=row["tied"] == "yes",
                **{key: int(row[key]) for key in (*whole, "experts", "active")},  # type: ignore[arg-type]
            )
            for row in rows
        }
    )


def unknown_models(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each language model of a scenario's data that is not known."""
    groups = entries(mapping(data.get("cluster")).get("servers"))
    parts = (
        *(
            (f"{key}[{i}].llm", mapping(row).get("llm"))
            for key in ("workload", "language")
            for i, row in enumerate(entries(data.get(key)))
        ),
        *((f"cluster.servers[{i}].engine", mapping(g).get("engine")) for i, g in enumerate(groups)),
    )
    for place, part in parts:
        name = mapping(part).get("model")
        if isinstance(name, str) and not is_config(name) and name not in language_models():
            yield (
                f"{place}.model: {name[:60]!r} is not a known language model; "
                f"{suggestion(name, language_models())}, or name a config.json."
            )


_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "layers": ("num_hidden_layers", "n_layer", "num_layers"),
        "hidden": ("hidden_size", "n_embd", "d_model"),
        "heads": ("num_attention_heads", "n_head"),
        "kv_heads": ("num_key_value_heads",),
        "head_dim": ("head_dim",),
        "ff": ("moe_intermediate_size", "intermediate_size", "n_inner"),
        "vocabulary": ("vocab_size",),
        "experts": ("num_local_experts", "num_experts", "n_routed_experts"),
        "active": ("num_experts_per_tok",),
    }
)
"""Ours → names in Hugging Face's ``config.json``; recollected."""


def read_config(data: bytes, filename: str) -> LanguageModel:
    """Read a model's hyper-parameters from a ``config.json`` as Hugging Face's transformers write it.

    Raises ``GraphError`` in one line, for what is no such file, and for attention that is not modelled.
    """
    what = f"Language model {filename!r}"
    try:
        document = json.loads(data.decode("utf-8-sig")) if len(data) <= MOST_CONFIG_BYTES else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise GraphError(f"{what}: it is no JSON object of at most 1 MB; give the model's config.json.")
    inner = document.get("text_config")
    config = inner if isinstance(inner, dict) else document
    if "kv_lora_rank" in config or "ssm_cfg" in config or "state_size" in config:
        raise GraphError(
            f"{what}: its attention is latent or a state space, which is not modelled; give another model."
        )
    values = {}
    for key, names in _KEYS.items():
        name = next((n for n in names if config.get(n) is not None), None)
        if name is not None:
            values[key] = _whole(config[name], f"{what}: {name}")
    missing = [key for key in ("layers", "hidden", "heads", "vocabulary") if key not in values]
    if missing:
        raise GraphError(f"{what}: {_KEYS[missing[0]][0]} is missing; give the model's config.json.")
    gpt2 = config.get("model_type") == "gpt2"
    values.setdefault("kv_heads", values["heads"])
    values.setdefault("head_dim", values["hidden"] // values["heads"])
    values.setdefault("ff", 4 * values["hidden"])
    if values.get("experts", 0) and not 0 < values.get("active", 0) <= values["experts"]:
        raise GraphError(
            f"{what}: num_experts_per_tok={values.get('active', 0)} must be from 1 to its "
            f"{values['experts']} experts; correct it."
        )
    attending, kinds = _attending(config, values["layers"], what)
    found = read_quantization({**config, **document} if inner is not config else {**document, **config}, what)
    return LanguageModel(
        name=filename,
        quantization=found,
        attending=attending,
        notes=(*kinds, *(found.notes if found is not None else ())),
        tied=bool(config.get("tie_word_embeddings", gpt2)),
        mlp=2 if gpt2 or config.get("hidden_act", config.get("activation_function")) == "gelu_new" else 3,
        positions=_whole(config.get("n_positions", 1024), f"{what}: n_positions") if gpt2 else 0,
        label=filename.removesuffix(".json"),
        **values,
    )


_KEEP_KV, _KEEP_NONE = (
    ("full_attention", "attention", "sliding_attention", "chunked_attention"),
    (*("linear_attention", "mamba", "mamba2", "conv", "recurrent", "ssm", "moe", "mlp"),),
)


def _attending(config: Mapping[str, Any], layers: int, what: str) -> tuple[int, tuple[str, ...]]:
    """Return how many layers keep keys and values (0: all), and what is left out; refuse an unknown kind."""
    kinds = config.get("layer_types")
    if not isinstance(kinds, list) or not kinds:
        return 0, ()
    unknown = [str(kind) for kind in kinds if kind not in (*_KEEP_KV, *_KEEP_NONE)]
    if unknown:
        raise GraphError(
            f"{what}: layers of the kind {unknown[0][:40]!r} are not modelled; known are "
            f"{', '.join((*_KEEP_KV, *_KEEP_NONE))}."
        )
    keep, windows = sum(k in _KEEP_KV for k in kinds), sum(k in _KEEP_KV[2:] for k in kinds)
    notes = (
        [f"{windows} of {layers} layers see a window: their KV is counted as of whole requests"]
        if windows
        else []
    )
    if keep < len(kinds):
        notes.append(
            f"{len(kinds) - keep} of {layers} layers keep no KV: their work is counted as attention's"
        )
    if not keep:
        raise GraphError(f"{what}: none of its layers attends, which is not modelled; give another model.")
    return (keep if keep < len(kinds) else 0), tuple(notes)


def _whole(value: object, what: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_PARAMETER:
        return value
    raise GraphError(
        f"{what}={str(value)[:40]!r} must be a whole number from 1 to {MOST_PARAMETER:,}; correct it."
    )
