"""Mean time per output token, load and KV of engines with continuous batching, in closed form.

Queries of tokens share an engine like processor sharing with a fixed cost a of each step. With λ requests a
second on it, n and m tokens of prompt and answer, the seconds S = c·n + q·n²/2 of a prompt and
D = m·(b + g·(n + m/2)) of an answer:

    ρ = λ·E[S] + λ·E[D],   TPOT = (a + E[D]/E[m]) / (1 − ρ) + λ·E[S]·W·E[1/m]

The last term is ours: in the time W until its first token, λ·E[S]·W seconds of prompts come in behind a
request, and its tokens wait for them. W = (E[S] + λ·E[S²] / (2·(1 − λ·E[S]))) / (1 − λ·E[D]) + 3a/2 is the
mean wait and time of a prompt among others, slowed by answers, and the steps that it meets. The cache holds
by Little's law what requests hold while their prompts are computed and while they are answered. The budget,
preemption and full caches are left out. The form hardly depends on the distribution of the answers'
lengths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Floats
from nona.language.system import Engine, LanguageSystem, RequestClass


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """Of one engine: load ρ, seconds per output token (``inf`` from ρ = 1 on), tokens in its cache."""

    load: float
    tpot_s: float
    kv_tokens: float


FEWEST = 100  # requests of a trace


def predict(system: LanguageSystem, number: int) -> EngineLoad | None:
    """Predict engine ``number`` when requests are split evenly; ``None`` where the formula does not hold.

    It holds for open rows on engines of the order ``vllm`` that compute prompts and tokens, without experts
    and without prefixes that a cache may spare; a trace of fewer than 100 requests has no rate to speak of.
    """
    engine = system.engines[number]
    rows = [row for row in system.rows if row.model == engine.model]
    alike = sum(e.model == engine.model for e in system.engines)
    others = any(e.role != "both" for e in system.engines if e.model == engine.model)
    if others or engine.order != "vllm" or engine.steps.experts or any(row.concurrency for row in rows):
        return None
    if any(row.arrivals.process == "trace" and len(row.arrivals.times_s) < FEWEST for row in rows):
        return None
    if engine.shares_prefixes and any(row.lengths.prefix is not None for row in rows):
        return None
    if not any(row.rate for row in rows):
        return EngineLoad(0.0, engine.steps.a, 0.0)
    tokens = np.concatenate([row.lengths.tokens for row in rows])
    rate = (
        np.concatenate([np.full(len(r.lengths.tokens), r.rate / len(r.lengths.tokens)) for r in rows]) / alike
    )
    (n, m), a = tokens.astype(float).T, engine.steps.a
    prompt_s, answer_s = _seconds(engine, tokens)
    prompts, answers = float(rate @ prompt_s), float(rate @ answer_s)
    load = prompts + answers
    if load >= 1:
        return EngineLoad(load, math.inf, math.inf)
    tpot_s = (a + answers / float(rate @ m)) / (1 - load)
    wait_s = float(rate @ prompt_s**2) / (2 * (1 - prompts))
    first_s = (prompts / float(rate.sum()) + wait_s) / (1 - answers) + 1.5 * a
    behind_s = prompts * first_s
    computed = n * (1 + np.minimum(1, engine.budget / n)) / 2  # of a prompt, on average while it is computed
    kv_tokens = float(rate @ (computed * (prompt_s / (1 - answers) + a)))
    kv_tokens += float(rate @ (m * (n + m / 2))) * tpot_s + float(rate @ (n + m / 2)) * behind_s
    return EngineLoad(load, tpot_s + behind_s * float(rate @ (1 / m)) / float(rate.sum()), kv_tokens)


def engines_busy(engine: Engine, rows: Sequence[RequestClass]) -> float:
    """Engines of this kind that open rows keep at work at least, by the part of requests that its role does.

    Fixed costs of steps are left out, as are the first token and prefixes where a cache may spare them.
    """
    busy = 0.0
    for row in rows:
        if row.model == engine.model:
            answer_s = _seconds(engine, row.lengths.tokens - [0, 1])[1]
            tokens = row.lengths.tokens
            if engine.shares_prefixes and row.lengths.prefix is not None:
                tokens = tokens - np.column_stack((row.lengths.prefix[:, 1], np.zeros_like(tokens[:, 1])))
            prompt_s = _seconds(engine, tokens)[0] * float(engine.role != "decode")
            busy += row.rate * float((prompt_s + answer_s * float(engine.role != "prefill")).mean())
    return busy


def _seconds(engine: Engine, tokens: np.ndarray) -> tuple[Floats, Floats]:
    """Seconds of each prompt and of each answer, without the fixed cost of steps."""
    (n, m), s = tokens.astype(float).T, engine.steps
    return s.c * n + s.q * n * n / 2, s.b * m + s.g * m * (n + m / 2)
