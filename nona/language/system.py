"""Engines that serve language models token by token, and the requests that they get, in arrays.

:mod:`nona.study` makes it from a scenario; it knows nothing of files or catalogues. Times are seconds,
lengths tokens, memory is blocks of ``BLOCK_TOKENS`` tokens.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nona.system import Arrivals, Stream

Order = Literal["vllm", "sglang", "static"]
Role = Literal["both", "prefill", "decode"]

BLOCK_TOKENS = 16


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Seconds of a step: a + e·touched + b·decodes + g·Σ kv + c·prefill + q·Σ x·(past + x/2).

    ``kv`` are the tokens that a decode reads, ``prefill`` the prompt tokens of the step, x those of one
    prompt behind ``past`` ones. ``touched`` of the ``experts``, of which a token takes ``active``, are read:
    experts·(1 − (1 − active/experts)^tokens).
    """

    a: float
    b: float = 0.0
    g: float = 0.0
    c: float = 0.0
    q: float = 0.0
    e: float = 0.0
    experts: int = 0
    active: int = 0

    def seconds(self, decodes: int, kv: int, prefill: int, attended: float) -> float:
        """Duration of a step; ``attended`` is Σ x·(past + x/2)."""
        base = self.a
        if self.experts:
            base += self.e * self.experts * (1 - (1 - self.active / self.experts) ** (decodes + prefill))
        return base + self.b * decodes + self.g * kv + self.c * prefill + self.q * attended


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine: the GPUs that run one copy of a model, and how it composes its steps.

    Attributes
    ----------
    blocks
        Of the KV cache.
    budget, sequences
        Most tokens of a step, and most requests that run at once.
    chunked
        A prompt may be split over steps; else it is computed whole or waits.
    watermark
        Share of the blocks that stays free when a request is admitted beside others.
    order
        ``vllm``: decodes and parts of prompts in one step; ``sglang``: prompts first, decodes pause;
        ``static``: no request joins before all of the batch have ended.
    role
        ``prefill``: computes prompts and hands their KV on; ``decode``: takes it over.
    lookahead
        A step is composed while the one before runs: who arrives meanwhile joins the step after.
    shares_prefixes
        Blocks of equal prefixes are kept and used again.
    kv_bytes
        Of one token, over all its GPUs.
    """

    name: str
    model: str
    steps: StepTimes
    blocks: int
    server: int = 0
    budget: int = 2048
    sequences: int = 256
    chunked: bool = True
    watermark: float = 0.0
    order: Order = "vllm"
    role: Role = "both"
    lookahead: bool = False
    shares_prefixes: bool = False
    kv_bytes: float = 0.0

    @property
    def kv_tokens(self) -> int:
        """Tokens that its KV cache holds."""
        return self.blocks * BLOCK_TOKENS


@dataclass(frozen=True, slots=True)
class Targets:
    """Service levels of a request in seconds; ``None``: none."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None


@dataclass(frozen=True, eq=False)
class Lengths:
    """Input and output tokens of requests: rows of (k, 2) that are drawn, or taken in order from a trace.

    ``prefix`` is (k, 2): the number of the prefix that a request begins with (−1: none), and its tokens.
    """

    tokens: NDArray[np.int64]
    in_order: bool = False
    prefix: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class RequestClass:
    """One language row of the workload.

    With ``concurrency`` above 0 the loop is closed: so many requests are in the system at any time. Where
    lengths are in order, ``arrivals.times_s`` and ``lengths`` are the rows of one trace.
    """

    name: str
    model: str
    rate: float
    lengths: Lengths
    arrivals: Arrivals = field(default_factory=Arrivals)
    targets: Targets = Targets()
    concurrency: int = 0
    priority: int = 0


@dataclass(frozen=True, eq=False)
class LanguageSystem:
    """Engines, the link between them, and the rows of requests."""

    engines: tuple[Engine, ...]
    rows: tuple[RequestClass, ...]
    capacity: float
    latency_s: float
    background: Stream = field(default_factory=Stream)
    seed: int = 0

    def engines_of(self, row: RequestClass, roles: Iterable[Role] = ("both", "prefill")) -> list[int]:
        """Numbers of the engines that a request of ``row`` may be sent to."""
        numbered = enumerate(self.engines)
        return [e for e, engine in numbered if engine.model == row.model and engine.role in roles]
