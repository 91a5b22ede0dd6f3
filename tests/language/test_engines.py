"""Both loops give the same, known cases come out to the microsecond, and what holds of every run does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reference_engine import simulate_once
from sizes import first

from nona.cluster.topology import make_topology
from nona.language.records import REFUSED, MeasuredWindow, Requests, RouterReplication
from nona.language.routers import NUMBERS
from nona.language.system import BLOCK_TOKENS, Engine, LanguageSystem, Lengths, RequestClass, StepTimes
from nona.queries.system import BackgroundStream, SharedNetwork

STEPS = StepTimes(6.367e-3, 11.16e-6, 41.88e-9, 17.6e-6, 1.7e-9)


def row(name: str = "chat", **changes: Any) -> RequestClass:
    return RequestClass(name, "llm", 1.0, Lengths(np.array([[100, 50]])), **changes)


def requests_at(arrival_s: Any, inputs: Any, outputs: Any, rows: Any = 0) -> Requests:
    n = len(arrival_s)
    whole = [np.broadcast_to(np.asarray(v), n).astype(np.int64) for v in (rows, inputs, outputs, -1, 0)]
    return Requests(np.asarray(arrival_s, dtype=float), *whole, np.zeros(n))


def one_engine(**changes: Any) -> LanguageSystem:
    return LanguageSystem((Engine("gpu", "llm", STEPS, **{"blocks": 600, **changes}),), (row(),))


def milliseconds(run: RouterReplication) -> dict[str, float]:
    times, outputs = run.times, run.requests.outputs
    ttft_s, e2e_s = times.first_s - times.arrival_s, times.end_s - times.arrival_s
    tpot_s = (e2e_s - ttft_s)[outputs > 1] / (outputs[outputs > 1] - 1)
    means = {
        "ttft": ttft_s.mean(),
        "tpot": tpot_s.mean(),
        "e2e": e2e_s.mean(),
        "p99": np.percentile(e2e_s, 99),
    }
    return {name: round(1e3 * value, 3) for name, value in means.items()}


@pytest.mark.parametrize("readable", [False, True])
@pytest.mark.parametrize(
    ("watermark", "steps", "preemptions", "end_s", "means"),
    [
        (0.0, 3630, 80, 27.796279, (7935.588, 8.246, 10038.258)),
        (0.05, 3892, 37, 29.025155, (7941.947, 7.901, 9956.740)),
    ],
)
def test_a_full_cache_preempts_as_two_independent_programs_did(
    readable: bool, watermark: float, steps: int, preemptions: int, end_s: float, means: tuple[float, ...]
) -> None:
    requests = requests_at(0.05 * np.arange(1, 201), 512, 256)
    run = simulate_once(
        one_engine(watermark=watermark), requests, "round-robin", MeasuredWindow(200), readable
    )
    got = milliseconds(run)
    assert (run.sums.steps.sum(), run.times.preemptions.sum()) == (steps, preemptions)
    assert run.over_s == pytest.approx(end_s, abs=1e-6)
    assert (got["ttft"], got["tpot"], got["e2e"]) == means


def drawn_system(rng: np.random.Generator) -> tuple[LanguageSystem, Requests, MeasuredWindow]:
    """Any engines, rows, and requests; instants on a grid, so that many coincide."""
    rows = tuple(
        row(f"row {k}", priority=int(rng.integers(3)), concurrency=int(rng.choice([0, 0, 3])))
        for k in range(rng.integers(1, 4))
    )
    apart = rng.random() < 0.3
    grid = rng.random() < 0.5
    steps = StepTimes(0.01, *([0.0] * 4)) if grid else replace(STEPS, e=1e-4, experts=8, active=2)
    engines = tuple(
        Engine(
            f"engine {k}",
            "llm",
            steps,
            blocks=int(rng.integers(20, 120)),
            budget=int(rng.choice([16, 64, 256, 2048])),
            sequences=int(rng.choice([2, 8, 64])),
            chunked=bool(rng.random() < 0.8),
            watermark=float(rng.choice([0, 0.05, 0.3])),
            order=rng.choice(["vllm", "vllm", "sglang", "static"]),
            role=("prefill", "decode", "prefill", "decode", "both")[k % 5] if apart else "both",
            server=int(rng.integers(4)),
            lookahead=bool(rng.random() < 0.3),
            shares_prefixes=bool(rng.random() < 0.6),
            kv_bytes=131072.0,
        )
        for k in range(rng.integers(2 if apart else 1, 6))
    )
    n = int(rng.integers(20, 150))
    row_of = rng.integers(len(rows), size=n)
    arrival_s = np.cumsum(rng.exponential(0.02, n))
    if grid:
        arrival_s = np.round(arrival_s, 2)
    for k, spec in enumerate(rows):
        of = np.flatnonzero(row_of == k)
        if spec.concurrency:
            arrival_s[of[: spec.concurrency]], arrival_s[of[spec.concurrency :]] = 0.0, np.inf
    order = np.lexsort((np.arange(n), row_of, arrival_s))
    row_of, arrival_s = row_of[order], arrival_s[order]
    inputs, outputs = rng.integers(1, 400, n), rng.integers(1, 120, n)
    prefix = rng.integers(-1, 4, n)
    prefix = np.where(prefix < 0, -1, 4 * row_of + prefix)  # rows share none
    shared = np.where(prefix < 0, 0, 40 * (prefix % 4 + 1))
    requests = Requests(arrival_s, row_of, inputs, outputs, prefix, shared, np.zeros(n))
    background = BackgroundStream(20.0, 1e6, 1.0) if rng.random() < 0.5 else BackgroundStream()
    first_token = rng.choice(["prefill", "decode"])
    links = {} if rng.random() < 0.3 else {"nic": float(rng.choice([2e8, 1e9, 5e9]))}
    if links and rng.random() < 0.5:
        links |= {"rack_size": 2, "uplink": 1e9}
    network = SharedNetwork(make_topology(4, 1e9, **links), 1e-4, background)
    system = LanguageSystem(engines, rows, network, int(rng.integers(100)), first_token)
    first = int(rng.integers(n // 3))
    return system, requests, MeasuredWindow(int(rng.integers(1, n - first)), first, steps=5)


def check(system: LanguageSystem, run: RouterReplication) -> None:
    """What holds of every run."""
    times, requests = run.times, run.requests
    done = np.isfinite(times.end_s)
    assert (times.first_s[done] > times.arrival_s[done]).all()
    assert (times.end_s[done] >= times.first_s[done]).all()
    assert ((requests.outputs[done] == 1) == (times.end_s[done] == times.first_s[done])).all() or (
        system.first_token == "decode"
    )
    blocks = system.most_blocks[times.engine[times.engine >= 0]]
    needs = -(-(requests.inputs + requests.outputs - 1) // BLOCK_TOKENS)
    assert (needs[times.engine >= 0] <= blocks).all()
    refused = (times.engine == REFUSED) & np.isfinite(times.arrival_s)
    fitting = max(system.most_blocks[system.places[0][system.places[0] >= 0]], default=0)
    assert (needs[refused] > fitting).all()
    for e, engine in enumerate(system.engines):
        assert run.sums.kv_most[e].max() <= run.sums.kv_peak[e] <= engine.kv_tokens
        assert run.sums.decoded[e] <= run.sums.steps[e] * engine.sequences
        if engine.chunked:
            assert run.sums.prefill[e] + run.sums.decoded[e] <= run.sums.steps[e] * max(
                engine.budget, engine.sequences
            )


@pytest.mark.parametrize("seed", first(24, range(200)))
def test_both_loops_give_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system, requests, window = drawn_system(rng)
    for router in NUMBERS:
        quick = simulate_once(system, requests, router, window)
        read = simulate_once(system, requests, router, window, readable=True)
        measured = read.measured
        assert np.array_equal(measured, quick.measured)
        for name, one, other in zip(read.times._fields, read.times, quick.times, strict=True):
            assert np.array_equal(one[measured], other[measured], equal_nan=one.dtype.kind == "f"), name
        for name, one, other in zip(read.sums._fields, read.sums, quick.sums, strict=True):
            assert np.array_equal(one, other), name
        assert (read.begin_s, read.over_s) == (quick.begin_s, quick.over_s)
        assert sorted(read.trace.tolist()) == sorted(quick.trace.tolist())
        check(system, read)
