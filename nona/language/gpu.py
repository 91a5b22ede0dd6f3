"""A GPU of an engine: how long a step takes, by constants fitted to measured tables, else a law; its memory.

T = a + b·decodes + g·Σ kv + c·prefill + q·Σ x·(past + x/2), with experts a + e·touched. The table holds for
one model, GPU and number of GPUs, in bf16; nothing is carried over from one GPU to another. Everything else
is *modelled*: weights and KV are read, products are computed, at a share of the peak, and the host adds its
time to each step. Where both are known, steps by the law take 0.8 to 1.25 times those of the table on cards
of data centres, up to 1.45 times on the RTX 4090.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from nona.cluster.hardware.device import Device, Precision, devices
from nona.cluster.hardware.executor import ExecutorClass
from nona.cluster.hardware.table_file import shipped_table
from nona.language.models import LanguageModel, language_models
from nona.language.quantization import grouped_bits
from nona.language.system import BLOCK_TOKENS, StepTimes

Provenance = Literal["calibrated", "modelled", "given"]
WEIGHTS_READ, KV_READ, PRODUCTS = 0.70, 0.85, 0.70
"""Shares of the memory's bandwidth and of the dense peak that are reached."""
HOST_S = 1e-3
REDUCTION_S = 10e-6
"""Of each of the two sums over the GPUs in a layer; with this, tp 2 and 4 on an H100 are as measured."""
BESIDE_READS = 0.6
"""Share of a token's products that a decode adds to a step, as weights are read meanwhile: fitted."""
LAW_ERROR = 0.3


@dataclass(frozen=True, slots=True)
class KnownSteps:
    """Step times with their relative error and where they come from."""

    times: StepTimes
    provenance: Provenance
    error: float
    source: str


def step_times(model: LanguageModel, kind: ExecutorClass, tp: int, of: NumberWidths) -> KnownSteps:
    """Return the constants of a model on ``tp`` GPUs of a kind: those of the table, else by the law.

    The table holds for 16-bit numbers (``of``) on a whole GPU whose figures are the catalogue's.
    """
    law = _law(model, kind, tp, of)
    if of == NumberWidths(2, 2, 2, "fp16") and kind.whole and kind.device == devices().get(kind.device.name):
        for row in shipped_table("nona.language", "data/steps.csv"):
            here = (row["gpu"], int(row["tp"])) == (kind.device.name, tp)
            if here and model.alike(language_models()[row["model"]]):
                return KnownSteps(
                    StepTimes(
                        a=float(row["a_ms"]) * 1e-3,
                        b=float(row["b_us"]) * 1e-6,
                        g=float(row["g_ns"]) * 1e-9,
                        c=float(row["c_us"]) * 1e-6 if row["c_us"] else law.c,
                        q=float(row["q_ns"]) * 1e-9 if row["q_ns"] else law.q,
                        e=float(row["e_ms"]) * 1e-3 if row["e_ms"] else 0.0,
                        experts=model.experts,
                        active=model.active,
                    ),
                    "calibrated",
                    float(row["error"]),
                    f"{row['version']}; {row['source']}",
                )
    source = f"law: {WEIGHTS_READ:.0%} and {KV_READ:.0%} of the bandwidth, {PRODUCTS:.0%} of the peak"
    return KnownSteps(law, "modelled", LAW_ERROR, source)


WeightPrecision = Literal["fp64", "fp32", "tf32", "fp16", "fp8", "int8", "int4"]
KvPrecision = Literal["auto", "fp8"]
_BYTES: dict[WeightPrecision, float] = {
    **{"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "fp8": 1, "int8": 1},
    "int4": grouped_bits(4, 128) / 8,
}
"""Bytes of a weight; of four bits a scale stands for 128 weights, and all but the layers has 16 bits."""


@dataclass(frozen=True, slots=True)
class NumberWidths:
    """Bytes of a weight in the layers, of one elsewhere, of a number in the KV cache; what is multiplied."""

    layers: float
    others: float
    kv: float
    products: Precision


def widths(model: LanguageModel, precision: WeightPrecision, kv: KvPrecision = "auto") -> NumberWidths:
    """Return the widths of a model's numbers on a GPU.

    Parameters
    ----------
    model
        Whose file may say that its layers are narrower.
    precision
        Of the weights where it does not.
    kv
        Of the KV cache; ``auto``: 16 bits, also beside narrower weights.

    >>> model = language_models()["qwen2.5-7b"]
    >>> widths(model, "int4").layers, widths(model, "fp16", "fp8").kv
    (0.515625, 1)
    """
    kv_bytes = 1 if kv == "fp8" else max(_BYTES[precision], 2)
    if model.quantization is not None:
        return NumberWidths(model.quantization.bits / 8, 2, kv_bytes, model.quantization.products)
    if precision == "int4":
        return NumberWidths(_BYTES[precision], 2, kv_bytes, "fp16")
    return NumberWidths(_BYTES[precision], _BYTES[precision], kv_bytes, precision)


def weight_bytes(model: LanguageModel, of: NumberWidths) -> float:
    """Return the bytes of all weights.

    >>> from dataclasses import replace
    >>> from nona.language.quantization import Quantization
    >>> model = replace(language_models()["qwen2.5-7b"], quantization=Quantization(grouped_bits(4, 128)))
    >>> round(weight_bytes(model, widths(model, "fp16")) / 1e9, 2)
    5.54
    """
    return model.layer_weights * of.layers + model.other_weights * of.others


def _law(model: LanguageModel, kind: ExecutorClass, tp: int, of: NumberWidths) -> StepTimes:
    compute = tp * kind.peak(of.products) * PRODUCTS
    reads = tp * kind.bandwidth * WEIGHTS_READ
    experts = model.feed_forward_weights * of.layers / reads
    always = model.attention_weights * of.layers / reads + model.hidden * model.vocabulary * of.others / reads
    reductions = 2 * model.layers if tp > 1 else 0
    token_s = 2 * model.used_by_a_token / compute
    if tp > 1:
        link = kind.device.peer_bandwidth or kind.device.host_bandwidth or kind.bandwidth
        token_s += reductions * 2 * (tp - 1) / tp * model.hidden * max(of.others, 2) / link
    return StepTimes(
        a=HOST_S + always + reductions * REDUCTION_S + (0.0 if model.experts else experts),
        b=BESIDE_READS * token_s,
        g=max(model.kv_heads, tp) / model.kv_heads * model.kv_bytes(of.kv)
        / (tp * kind.bandwidth * KV_READ),
        c=token_s,
        q=4 * model.layers * model.heads * model.head_dim / compute,
        e=experts if model.experts else 0.0,
        experts=model.experts,
        active=model.active,
    )  # fmt: skip


SAMPLER_BYTES = 38
"""Of each logit where top-k and top-p sort it: the logit 2, its copy in fp32 4, sorted values 4 and their
places 8, the sort's own places 8 and buffers 12. vLLM profiles so from 0.8 on; FlashInfer's sampler (pull
request 40376) needs about 14, but then the estimate of CUDA graphs is larger."""
GRAPH_BYTES = 6.5 * 2**20
"""Of each CUDA graph, as vLLM 0.22 and 0.24 estimate it (0.37 GiB for 54 graphs, 0.53 for 86)."""
LIBRARY_BYTES = 0.1 * 2**30
"""What the engine's libraries take outside PyTorch; vLLM's logs on one GPU say 0.02 to 0.2 GiB."""
_CAPTURED = (1, 2, 4, *range(8, 256, 8), *range(256, 513, 16))
_LARGE_BYTES = 70 * 2**30


def visible_bytes(device: Device) -> float:
    """Return the memory that CUDA reports, where it is known, else the data sheet's.

    >>> round(visible_bytes(devices()["a10g"]) / 2**30, 2), visible_bytes(devices()["a40"])
    (22.06, 48000000000.0)
    """
    if device == devices().get(device.name):
        for row in shipped_table("nona.language", "data/memory.csv"):
            if row["gpu"] == device.name:
                return float(row["gib"]) * 2**30
    return device.memory_bytes


@dataclass(frozen=True, slots=True)
class MemorySplit:
    """Bytes of one GPU: ``usable`` is the engine's share of ``memory``, ``kv`` what is left for its blocks.

    ``activations`` of the largest step, CUDA ``graphs``, ``libraries`` outside PyTorch; ``kv_block`` is of a
    block.
    """

    memory: float
    usable: float
    weights: float
    activations: float
    graphs: float
    libraries: float
    kv_block: float

    @property
    def beside_kv(self) -> float:
        """Bytes that are taken before the KV cache."""
        return self.weights + self.activations + self.graphs + self.libraries

    @property
    def kv(self) -> float:
        """Bytes for the KV cache, below 0 where the model does not fit."""
        return self.usable - self.beside_kv

    @property
    def blocks(self) -> int:
        """Blocks of the KV cache that fit into the memory left for it."""
        return max(0, int(self.kv // self.kv_block))

    def with_share(self, share: float) -> MemorySplit:
        """Return the split with another share of the memory."""
        return replace(self, usable=self.memory * share)


def memory_split(
    model: LanguageModel,
    memory_bytes: float,
    utilization: float,
    tp: int,
    of: NumberWidths,
    budget: int,
    sequences: int,
    graphs_inside: bool = True,
) -> MemorySplit:
    """Return how the memory of one GPU is divided, as vLLM profiles it.

    A step of ``budget`` tokens keeps two states of a layer and its feed-forward; then ``sequences`` tokens
    are sampled. The larger of both is the peak.

    Parameters
    ----------
    model : LanguageModel
        The model.
    memory_bytes : float
        Memory of the GPU.
    utilization : float
        Share of the memory that the engine takes.
    tp : int
        GPUs that run the model together.
    of : NumberWidths
        Widths of weights, activations, keys and values.
    budget : int
        Tokens of a step.
    sequences : int
        Requests at a time.
    graphs_inside : bool, optional
        Whether CUDA graphs are within the share, as from vLLM 0.21 on.

    Returns
    -------
    MemorySplit
        Bytes of one GPU.
    """
    heads = max(model.kv_heads, tp) / tp  # where there are fewer than GPUs, each GPU holds one
    kv_token = 2 * model.kv_layers * heads * model.head_dim * of.kv
    layer = 2 * model.hidden + 3 * model.ff * max(model.active, 1) / tp
    sampled = min(sequences, budget)
    graphs = sum((size <= 2 * sequences) + (size <= sequences) for size in _CAPTURED)
    return MemorySplit(
        memory=memory_bytes,
        usable=memory_bytes * utilization,
        weights=weight_bytes(model, of) / tp,
        activations=max(budget * layer * max(of.others, 2), sampled * model.vocabulary * SAMPLER_BYTES),
        graphs=graphs * GRAPH_BYTES * graphs_inside,
        libraries=LIBRARY_BYTES,
        kv_block=kv_token * BLOCK_TOKENS,
    )


def smallest_tp(
    model: LanguageModel, memory_bytes: float, utilization: float, of: NumberWidths, budget: int
) -> int:
    """Return the fewest GPUs, a power of two, that hold the model and one step's tokens; 0: not even 64."""
    for tp in (1, 2, 4, 8, 16, 32, 64):
        split = memory_split(model, memory_bytes, utilization, tp, of, budget, 1)
        if model.heads % tp == 0 and split.blocks * BLOCK_TOKENS >= budget:
            return tp
    return 0


def requests_that_fit(blocks: int, tokens: int) -> int:
    """Return how many requests of so many tokens, prompt and answer, the KV cache holds at a time.

    >>> requests_that_fit(900, 640)
    22
    """
    return blocks // -(-tokens // BLOCK_TOKENS)


def share_for(split: MemorySplit, requests: int, tokens: int) -> float:
    """Return the least share of the memory with which so many requests of so many tokens fit.

    It inverts :func:`requests_that_fit`.

    Parameters
    ----------
    split : MemorySplit
        The division of a GPU's memory.
    requests : int
        Requests at a time.
    tokens : int
        Of each, prompt and answer.

    Returns
    -------
    float
        Share of the memory; above 1 they do not fit at all.
    """
    needed = requests * -(-tokens // BLOCK_TOKENS)
    share = (split.beside_kv + needed * split.kv_block) / split.memory
    while split.with_share(share).blocks < needed:  # by rounding
        share = math.nextafter(share, math.inf)
    return share


def vllm_defaults(device: Device) -> tuple[int, int]:
    """Return vLLM's tokens of a step and requests at a time, as ``vllm serve`` chooses them.

    From 70 GiB on, but for the A100 (vLLM 0.19 to 0.27).
    """
    large = device.memory_bytes >= _LARGE_BYTES and not device.name.startswith("a100")
    return (8192, 1024) if large else (2048, 256)
