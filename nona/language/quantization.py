"""The width of a language model's weights, as its ``config.json`` says it.

Formats are those of Hugging Face's ``quantization_config``: awq, gptq, fp8, compressed-tensors, bitsandbytes.
Only the matrices of layers are narrower; embeddings and the output stay in 16 bits. A method that is not
known is refused: weights of an unknown width would be a wrong number without a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nona.core.errors import GraphError

METHODS = ("awq", "gptq", "fp8", "compressed-tensors", "bitsandbytes")
SCALE_BITS = 16  # of the scale that the weights of a group share
_USUAL_GROUP = 128
# Parts that methods leave as they are, as a rule; they are small or counted at 16 bits anyhow.
_LEFT = (
    "lm_head",
    "embed",
    "gate",
    "router",
    "norm",
    "vision",
    "visual",
    "multi_modal",
    "mm_projector",
    "re:",
)


@dataclass(frozen=True, slots=True)
class Quantization:
    """How the matrices of layers are held.

    Parameters
    ----------
    bits
        Bits of a weight, its part of the group's scale included.
    products
        Numbers that are multiplied: ``fp16`` where weights are widened first.
    notes
        What the file says and this model of it leaves out.
    """

    bits: float
    products: Literal["fp16", "fp8", "int8"] = "fp16"
    notes: tuple[str, ...] = ()


def grouped_bits(bits: int, group: int) -> float:
    """Return the bits of a weight with its part of a scale; a group below 1 is a whole column.

    >>> grouped_bits(4, 128)
    4.125
    """
    return bits + (SCALE_BITS / group if group > 0 else 0.0)


def read_quantization(config: Mapping[str, Any], what: str) -> Quantization | None:
    """Read ``quantization_config`` of a model.

    Parameters
    ----------
    config
        The model's ``config.json``.
    what
        The model, as errors name it.

    Returns
    -------
    Quantization or None
        ``None`` for weights in the model's own precision.

    Raises
    ------
    GraphError
        For a method or a width that is not known.
    """
    given = config.get("quantization_config")
    if not given:
        return None
    if not isinstance(given, Mapping):
        raise GraphError(f"{what}: quantization_config={str(given)[:40]!r} must be a mapping; correct it.")
    method = str(given.get("quant_method", "bitsandbytes" if "load_in_4bit" in given else "")).lower()
    read = {
        "awq": _grouped,
        "gptq": _grouped,
        "fp8": _fp8,
        "fbgemm_fp8": _fp8,
        "compressed-tensors": _compressed,
        "bitsandbytes": _bitsandbytes,
    }.get(method)
    if read is None:
        raise GraphError(
            f"{what}: quantization {method[:40]!r} is not modelled; give weights in 16 bits, or in one of "
            f"{', '.join(METHODS)}."
        )
    found = read(given, what)
    notes = (*found.notes, *_unconverted(given), *_cache(given))
    return Quantization(found.bits, found.products, notes)


def _number(given: Mapping[str, Any], key: str, usual: int, what: str, allowed: tuple[int, ...] = ()) -> int:
    value = given.get(key, usual)
    value = usual if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or (allowed and value not in allowed):
        known = f"one of {', '.join(map(str, allowed))}" if allowed else "a whole number"
        raise GraphError(f"{what}: quantization {key}={str(value)[:40]!r} must be {known}; correct it.")
    return value


def _grouped(given: Mapping[str, Any], what: str) -> Quantization:
    bits = _number(given, "bits", 4, what, (2, 3, 4, 8))
    return Quantization(grouped_bits(bits, _number(given, "group_size", _USUAL_GROUP, what)))


def _fp8(given: Mapping[str, Any], what: str) -> Quantization:
    return Quantization(8.0, "fp8")


def _bitsandbytes(given: Mapping[str, Any], what: str) -> Quantization:
    if given.get("load_in_8bit"):
        return Quantization(8.0)
    if given.get("load_in_4bit") or given.get("_load_in_4bit"):
        # An fp32 scale for 64 weights; where scales are quantised too, 8 bits of it and an fp32 one for 256.
        twice = bool(given.get("bnb_4bit_use_double_quant"))
        return Quantization(4.0 + (8 / 64 + 32 / (64 * 256) if twice else 32 / 64))
    raise GraphError(f"{what}: bitsandbytes must say load_in_4bit or load_in_8bit; add one.")


def _compressed(given: Mapping[str, Any], what: str) -> Quantization:
    groups = given.get("config_groups")
    every = list(groups.values()) if isinstance(groups, Mapping) else []
    found: dict[tuple[float, str], None] = {}
    for group in every:
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if not isinstance(weights, Mapping):
            continue
        bits = _number(weights, "num_bits", 8, what, (2, 3, 4, 8))
        size = weights.get("group_size")
        both = group.get("input_activations") is not None and bits == 8
        products = ("fp8" if weights.get("type") == "float" else "int8") if both else "fp16"
        found[(grouped_bits(bits, size if isinstance(size, int) else 0), products)] = None
    if len(found) != 1:
        raise GraphError(
            f"{what}: compressed-tensors has {len(found)} kinds of weights in config_groups, and one is "
            "modelled; give a model with one."
        )
    ((bits_of, kind),) = found
    return Quantization(bits_of, kind)  # type: ignore[arg-type]


def _unconverted(given: Mapping[str, Any]) -> list[str]:
    """Name the parts beyond the usual ones that stay in 16 bits."""
    parts = given.get("modules_to_not_convert") or given.get("ignore") or given.get("ignored_layers") or ()
    names = [str(part) for part in parts] if isinstance(parts, list | tuple) else []
    more = [name for name in names if not any(known in name for known in _LEFT)]
    if not more:
        return []
    return [
        f"{len(more)} parts of its layers stay in 16 bits ({more[0][:60]}, …): they are counted as quantised"
    ]


def _cache(given: Mapping[str, Any]) -> list[str]:
    scheme = given.get("kv_cache_scheme") or given.get("kv_cache_quant_algo")
    return ["its file asks for a narrower KV cache: give engine.kv: fp8 for that"] if scheme else []
