"""What an engine's memory holds: how many requests fit, and the share that some number of them needs."""

from __future__ import annotations

import math

from nona.cluster.hardware.device import Device
from nona.core.document import Document
from nona.core.errors import HardwareError
from nona.core.tables import share_text
from nona.core.text import count_text
from nona.core.units import format_number, format_size
from nona.language.gpu import (
    KvPrecision,
    WeightPrecision,
    memory_split,
    requests_that_fit,
    share_for,
    visible_bytes,
    vllm_defaults,
    weight_bytes,
    widths,
)
from nona.language.models import LanguageModel
from nona.language.system import BLOCK_TOKENS

TOKENS = 2048
STEP = 1000
"""Shares are shown in thousandths, rounded up, so that what is shown suffices."""


class EngineMemory(Document):
    """Memory of one of ``tp`` GPUs of an engine in bytes, and what its KV cache holds.

    ``share`` of ``memory_bytes`` is the engine's. ``fits`` requests of ``tokens`` tokens, prompt and answer,
    are in the cache at a time; ``requests`` of them need ``share_needed`` of the memory, above 1 if they do
    not fit at all.
    """

    model: str
    gpu: str
    tp: int
    weights: int
    model_bytes: float
    kv_token_bytes: float
    memory_bytes: float
    share: float
    weight_bytes: float
    activation_bytes: float
    graph_bytes: float
    library_bytes: float
    kv_bytes: float
    blocks: int
    budget: int
    sequences: int
    tokens: int
    fits: int
    requests: int
    share_needed: float


def engine_memory(
    model: LanguageModel,
    device: Device,
    share: float,
    tp: int = 1,
    precision: WeightPrecision = "fp16",
    kv: KvPrecision = "auto",
    tokens: int = TOKENS,
    requests: int = 0,
) -> EngineMemory:
    """Return what an engine's memory holds on a device.

    Parameters
    ----------
    model
        The language model.
    device
        Each of the GPUs.
    share
        Of each GPU's memory that the engine takes.
    tp
        GPUs that run one copy together.
    precision
        Of the weights where the model's file does not say it.
    kv
        Width of keys and values.
    tokens
        Of a request, prompt and answer.
    requests
        Of which the needed share is asked; 0: of one more than fit.

    Returns
    -------
    EngineMemory
        The parts of the memory, the requests that fit, and the share that ``requests`` need.

    Raises
    ------
    HardwareError
        If ``tp`` does not divide the heads of the model.
    """
    if model.heads % tp:
        raise HardwareError(
            f"--tp {tp}: it must divide the {model.heads} heads of {model.name!r}; change it."
        )
    of, (budget, sequences) = widths(model, precision, kv), vllm_defaults(device)
    split = memory_split(model, visible_bytes(device), share, tp, of, budget, sequences)
    fits = requests_that_fit(split.blocks, tokens)
    asked = requests or fits + 1
    return EngineMemory(
        model=model.name,
        gpu=device.name,
        tp=tp,
        weights=round(model.parameters),
        model_bytes=weight_bytes(model, of),
        kv_token_bytes=split.kv_block / BLOCK_TOKENS * tp,
        memory_bytes=split.memory,
        share=share,
        weight_bytes=split.weights,
        activation_bytes=split.activations,
        graph_bytes=split.graphs,
        library_bytes=split.libraries,
        kv_bytes=split.kv,
        blocks=split.blocks,
        budget=budget,
        sequences=sequences,
        tokens=tokens,
        fits=fits,
        requests=asked,
        share_needed=share_for(split, asked, tokens),
    )


def memory_text(of: EngineMemory) -> str:
    """Say how the memory is divided, what fits, and what more would need."""
    parts = [
        f"{name} {format_size(size)}"
        for name, size in (
            ("weights", of.weight_bytes), ("activations", of.activation_bytes),
            ("CUDA graphs", of.graph_bytes), ("libraries", of.library_bytes),
        )
    ]  # fmt: skip
    left = (
        f"{format_size(of.kv_bytes)} are left for KV, {of.blocks:,} blocks"
        if of.blocks
        else "none is left for KV"
    )
    fit = f"{count_text(of.fits, 'request')} of {of.tokens:,} tokens"
    return "\n".join(
        (
            f"{of.model}: {format_number(of.weights / 1e9)} billion weights, {format_size(of.model_bytes)}; "
            f"{format_size(of.kv_token_bytes)} of keys and values a token.",
            f"Each of {of.tp} × {of.gpu} has {format_size(of.memory_bytes)}, the engine takes "
            f"{share_text(of.share, 1)}: {', '.join(parts)}; {left}.",
            f"The cache holds {fit}, prompt and answer, at once.",
            needed_text(of.share_needed, of.requests, of.tokens),
        )
    )


def shown_share(share: float) -> float:
    """Return a share rounded up to thousandths.

    >>> shown_share(0.82701), shown_share(0.827)
    (0.828, 0.827)
    """
    return math.ceil(round(share * STEP, 6)) / STEP


def needed_text(share: float, requests: int, tokens: int) -> str:
    """Say which share of the memory so many requests need.

    >>> needed_text(0.8265, 20, 2048)
    '20 requests of 2,048 tokens at once need 0.827 of the memory.'
    """
    asked = f"{count_text(requests, 'request')} of {tokens:,} tokens at once"
    need = "needs" if requests == 1 else "need"
    whole = f"{asked} {need} {shown_share(share):g} of the memory"
    if share > 1:
        return f"{whole}, more than there is; take a larger GPU, a larger tp, narrower weights, or kv: fp8."
    return f"{whole}."
