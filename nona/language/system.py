"""Engines that serve language models token by token, and the requests that they get, in arrays.

:mod:`nona.queries.workflows` makes it from a scenario; it knows nothing of files or catalogues. Times are
seconds, lengths tokens, memory is blocks of ``BLOCK_TOKENS`` tokens.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from nona.cluster.topology import make_topology
from nona.core.arrays import Ints
from nona.queries.system import NO_BACKGROUND, BackgroundStream, SharedNetwork
from nona.scenario.arrivals import Arrivals

Order = Literal["vllm", "sglang", "static"]
Role = Literal["both", "prefill", "decode"]

BLOCK_TOKENS = 16
# What SGLang reserves of the tokens yet to come: at first, at least, steps between the two; of one request at
# most; steps that it counts when it has retracted one.
FIRST_RATIO, LEAST_RATIO, RATIO_STEPS = 0.7, 0.098, 600
MOST_RESERVED, RETRACTED_STEPS = 4096, 20


def blocks_of(tokens: int) -> int:
    """Return the blocks that hold so many tokens."""
    return -(-tokens // BLOCK_TOKENS)


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Seconds of a step: a + e·touched + b·decodes + g·Σ kv + c·prefill + q·Σ x·(past + x/2).

    ``kv`` are the tokens in the cache that decodes read, ``prefill`` the prompt tokens of the step, x those
    of one prompt behind ``past`` ones. ``touched`` of the ``experts``, of which a token takes ``active``, are
    read: experts·(1 − (1 − active/experts)^tokens).
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
        return step_seconds(
            self.a, self.b, self.g, self.c, self.q, self.e, self.experts, self.active,
            decodes, kv, prefill, attended,
        )  # fmt: skip

    def scaled(self, factor: float) -> StepTimes:
        """Return the same with every time multiplied."""
        times = {name: factor * getattr(self, name) for name in ("a", "b", "g", "c", "q", "e")}
        return replace(self, **times)


def step_seconds(
    a: float, b: float, g: float, c: float, q: float, e: float, experts: int, active: int,
    decodes: int, kv: int, prefill: int, attended: float,
) -> float:  # fmt: skip
    """Return the duration of a step, as :class:`StepTimes` says."""
    if experts > 0:
        a += e * experts * (1 - math.pow(1 - active / experts, float(decodes + prefill)))
    return a + b * decodes + g * kv + c * prefill + q * attended


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine: the GPUs that run one copy of a model, and how it composes its steps.

    ``blocks``: of the KV cache.
    ``budget``, ``sequences``: most tokens of a step, and most requests that run at once.
    ``chunked``: a prompt may be split over steps; else it is computed whole or waits.
    ``watermark``: share of the blocks that stays free when a request is admitted beside others.
    ``order``: ``vllm``: decodes and parts of prompts in one step; ``sglang``: prompts first, decodes pause;
        ``static``: no request joins before all of the batch have ended.
    ``role``: ``prefill``: computes prompts and hands their KV on; ``decode``: takes it over.
    ``lookahead``: a step is composed while the one before runs: who arrives meanwhile joins the step after.
    ``shares_prefixes``: blocks of equal prefixes are kept and used again.
    ``kv_bytes``: of one token, over all its GPUs.
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

    @property
    def any(self) -> bool:
        """Return whether there is a target at all."""
        return any(limit is not None for limit in (self.ttft_s, self.tpot_s, self.e2e_s))


@dataclass(frozen=True, eq=False)
class Lengths:
    """Input and output tokens of requests: rows of (k, 2) that are drawn, or taken in order from a trace.

    ``prefix`` is (k, 2): the number of the prefix that a request begins with (−1: none), and its tokens.
    """

    tokens: Ints
    in_order: bool = False
    prefix: Ints | None = None

    @property
    def mean_outputs(self) -> float:
        """Output tokens of a request on average."""
        return float(self.tokens[:, 1].mean())


@dataclass(frozen=True, eq=False)
class RequestClass:
    """One language row of the workload.

    With ``concurrency`` above 0 the loop is closed: so many requests are in the system at any time. Where
    lengths are in order, ``arrivals.times_s`` and ``lengths`` are the rows of one trace. Where it follows
    queries, ``after`` is the number of their class: each sends a request once it is done.
    """

    name: str
    model: str
    rate: float
    lengths: Lengths
    arrivals: Arrivals = field(default_factory=Arrivals)
    targets: Targets = Targets()
    concurrency: int = 0
    priority: int = 0
    after: int | None = None


class EngineLink(NamedTuple):
    """Bytes/s of a link, what others send over it, and the name of the random streams of these."""

    capacity: float
    name: tuple[str, ...]
    background: BackgroundStream


ONE_SERVER = SharedNetwork(make_topology(1, 1.0), 0.0)  # no KV crosses its link


@dataclass(frozen=True, eq=False)
class LanguageSystem:
    """Engines, the network between their servers, and the rows of requests.

    ``first_token``: where prompts are computed apart, the side that hands out the first token of an answer.
    """

    engines: tuple[Engine, ...]
    rows: tuple[RequestClass, ...]
    network: SharedNetwork = ONE_SERVER
    seed: int = 0
    first_token: Literal["prefill", "decode"] = "decode"

    @cached_property
    def paths(self) -> Ints:
        """(E, E, H) Links from engines that compute prompts to those that take over, and −1 behind them."""
        pairs = {
            (e, d): self.network.path(one.server, other.server)
            for e, one in enumerate(self.engines)
            for d, other in enumerate(self.engines)
            if (one.role, other.role) == ("prefill", "decode") and one.model == other.model
        }
        hops = 1 + max(map(len, pairs.values()), default=0)
        paths = np.full((len(self.engines), len(self.engines), hops), -1)
        for pair, path in pairs.items():
            paths[pair][: len(path)] = path
        return paths

    @property
    def links(self) -> list[EngineLink]:
        """The links of the network; what others send stands only on those that KV may cross."""
        crossed, capacity = set(np.unique(self.paths).tolist()), self.network.topology.link_capacity.tolist()
        return [
            EngineLink(of, name, stream if number in crossed else NO_BACKGROUND)
            for number, (of, (name, stream)) in enumerate(zip(capacity, self.network.streams, strict=True))
        ]

    @property
    def kv_messages(self) -> dict[str, BackgroundStream]:
        """Link → the KV that open rows send over it, as if each pair of engines were as likely."""
        streams: dict[str, BackgroundStream] = {}
        for row, first, second in zip(self.rows, self.places[::2], self.places[1::2], strict=True):
            prompts = row.lengths.tokens[:, 0]
            scv = float(prompts.var() / prompts.mean() ** 2)
            first, second = first[first >= 0], second[second >= 0]
            for e, d in itertools.product(first.tolist(), second.tolist()):
                size = float(prompts.mean()) * self.engines[e].kv_bytes
                sent = BackgroundStream(row.rate / (len(first) * len(second)), size, scv)
                for link in self.paths[e, d][self.paths[e, d] >= 0].tolist():
                    name = self.network.topology.link_names[link]
                    streams[name] = streams.get(name, NO_BACKGROUND).merged_with(sent)
        return streams

    @property
    def places(self) -> Ints:
        """(2·rows, E) Engines, and −1 behind them: 2r for arrivals of row r, 2r + 1 for KV of its prompts."""
        places = np.full((2 * len(self.rows), len(self.engines)), -1, dtype=np.int64)
        for row, spec in enumerate(self.rows):
            there = [e for e, engine in enumerate(self.engines) if engine.model == spec.model]
            decoders = [e for e in there if self.engines[e].role == "decode"]
            roles = ("both", "prefill") if decoders else ("both",)
            first = [e for e in there if self.engines[e].role in roles]
            places[2 * row, : len(first)], places[2 * row + 1, : len(decoders)] = first, decoders
        return places

    @property
    def most_blocks(self) -> Ints:
        """(E,) Blocks of the longest request that each can serve, with those that take over from it."""
        decoders = {e.model: 0 for e in self.engines}
        for e in self.engines:
            if e.role == "decode":
                decoders[e.model] = max(decoders[e.model], e.blocks)
        of = [min(e.blocks, decoders[e.model]) if e.role == "prefill" else e.blocks for e in self.engines]
        return np.array(of, dtype=np.int64)
