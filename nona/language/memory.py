"""The memory of an engine's GPU: weights, activations, graphs, and the KV blocks that are left."""

from __future__ import annotations

from dataclasses import dataclass

from nona.hardware.device import Device, Precision
from nona.language.models import LanguageModel
from nona.language.step_times import WIDTHS, kv_width
from nona.language.system import BLOCK_TOKENS

GRAPHS_BYTES = 1e9
"""CUDA graphs and what the engine and its libraries hold; recollected, as a GPU with 24 GB showed."""
_LARGE_BYTES = 70 * 2**30


@dataclass(frozen=True, slots=True)
class MemorySplit:
    """Bytes of one GPU: ``usable`` is the engine's share, ``kv`` what is left for blocks of ``kv_block``."""

    usable: float
    weights: float
    activations: float
    graphs: float
    kv_block: float

    @property
    def kv(self) -> float:
        """Bytes for the KV cache, below 0 where the model does not fit."""
        return self.usable - self.weights - self.activations - self.graphs

    @property
    def blocks(self) -> int:
        """Blocks of the KV cache."""
        return max(0, int(self.kv // self.kv_block))


def memory_split(
    model: LanguageModel,
    memory_bytes: float,
    utilization: float,
    tp: int,
    precision: Precision,
    budget: int,
    sequences: int,
) -> MemorySplit:
    """Return how a GPU's memory is divided, one of ``tp`` that run the model together.

    Activations are those of a step of ``budget`` tokens, which keep a layer's input, attention and
    feed-forward, and of the logits of ``sequences`` answers. ``memory_bytes`` is what its data sheet says;
    many cards have up to 7 % more, so the blocks are a careful estimate.
    """
    heads = max(model.kv_heads, tp) / tp  # where there are fewer than GPUs, each GPU holds one
    kv_token = 2 * model.layers * heads * model.head_dim * kv_width(precision)
    layer = 4 * model.hidden + (model.heads * model.head_dim + 2 * model.ff * max(model.active, 1)) / tp
    logits = min(sequences, budget) * model.vocabulary * 4
    return MemorySplit(
        usable=memory_bytes * utilization,
        weights=model.parameters * WIDTHS[precision] / tp,
        activations=budget * layer * kv_width(precision) + logits,
        graphs=GRAPHS_BYTES,
        kv_block=kv_token * BLOCK_TOKENS,
    )


def smallest_tp(
    model: LanguageModel, memory_bytes: float, utilization: float, precision: Precision, budget: int
) -> int:
    """Return the fewest GPUs, a power of two, that hold the model and one step's tokens; 0: not even 64."""
    for tp in (1, 2, 4, 8, 16, 32, 64):
        split = memory_split(model, memory_bytes, utilization, tp, precision, budget, 1)
        if model.heads % tp == 0 and split.blocks * BLOCK_TOKENS >= budget:
            return tp
    return 0


def requests_that_fit(blocks: int, tokens: int) -> int:
    """Return how many requests of so many tokens, prompt and answer, the KV cache holds at a time.

    >>> requests_that_fit(900, 640)
    22
    """
    return blocks // -(-tokens // BLOCK_TOKENS)


def vllm_defaults(device: Device) -> tuple[int, int]:
    """Return vLLM's tokens of a step and requests at a time, as ``vllm serve`` chooses them.

    From 70 GiB on, but for the A100 (vLLM 0.19 to 0.27).
    """
    large = device.memory_bytes >= _LARGE_BYTES and not device.name.startswith("a100")
    return (8192, 1024) if large else (2048, 256)
