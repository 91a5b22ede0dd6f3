"""Mean time per output token, load and KV of engines with continuous batching, in closed form.

Queries of tokens share an engine like processor sharing with a fixed cost a of each step. With λ requests a
second on it, n and m tokens of prompt and answer:

    ρ = λ · E[c·n + q·n²/2 + m·(b + g·(n + m/2))],   TPOT = (a + E[m·(b + g·(n + m/2))]/E[m]) / (1 − ρ)

and by Little's law λ·E[m·(n + m/2)]·TPOT tokens in the cache. It is insensitive to the distribution of the
answers' lengths. It leaves out the budget, preemption and full caches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nona.language.system import Engine, LanguageSystem, RequestClass


@dataclass(frozen=True, slots=True)
class Prediction:
    """Of one engine: load ρ, seconds per output token (``inf`` from ρ = 1 on), tokens in its cache."""

    load: float
    tpot_s: float
    kv_tokens: float


def predict(system: LanguageSystem, number: int) -> Prediction | None:
    """Predict engine ``number`` when requests are dealt out evenly; ``None`` where the form does not hold.

    It holds for open rows on engines of the order ``vllm`` that compute prompts and tokens, without experts.
    """
    engine = system.engines[number]
    rows = [row for row in system.rows if row.model == engine.model]
    alike = sum(e.model == engine.model for e in system.engines)
    others = any(e.role != "both" for e in system.engines if e.model == engine.model)
    if others or engine.order != "vllm" or engine.steps.experts or any(row.concurrency for row in rows):
        return None
    work_s = made = token_s = area = 0.0
    for row in rows:
        rate = row.rate / alike
        prompt_s, tokens_s, tokens, resident = _moments(engine, row.lengths.tokens)
        work_s += rate * (prompt_s + tokens_s)
        token_s += rate * tokens_s
        made += rate * tokens
        area += rate * resident
    if not made:
        return Prediction(0.0, engine.steps.a, 0.0)
    tpot_s = (engine.steps.a + token_s / made) / (1 - work_s) if work_s < 1 else math.inf
    return Prediction(work_s, tpot_s, area * tpot_s)


def engines_busy(engine: Engine, rows: Sequence[RequestClass]) -> float:
    """Engines of this kind that open rows keep at work at least, by the part of requests that its role does.

    Fixed costs of steps are left out, as are prompts where a cache may spare them and the first token.
    """
    busy = 0.0
    for row in rows:
        if row.model == engine.model:
            prompt_s, tokens_s, *_ = _moments(engine, row.lengths.tokens - [0, 1])
            prompts = engine.role != "decode" and not engine.shares_prefixes
            busy += row.rate * (prompt_s * prompts + tokens_s * (engine.role != "prefill"))
    return busy


def _moments(engine: Engine, tokens: np.ndarray) -> tuple[float, float, float, float]:
    """Means over requests: seconds of the prompt and of the answer, tokens made, token-steps resident."""
    n, m = tokens.astype(float).T
    s = engine.steps
    resident = m * (n + m / 2)
    prompt_s = float(np.mean(s.c * n + s.q * n * n / 2))
    return prompt_s, float(np.mean(s.b * m + s.g * resident)), float(m.mean()), float(resident.mean())
