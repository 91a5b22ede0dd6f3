"""Engines against closed forms, published programs and laws that hold of every queue."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from reference_engine import simulate_once
from reference_server import Server

from evidence.measured_language import beside_steps, steps_finding
from nona.cluster.topology import make_topology
from nona.language.draws import draw_requests
from nona.language.formula import engines_busy, predict
from nona.language.records import MeasuredWindow, RouterReplication
from nona.language.system import Engine, LanguageSystem, Lengths, RequestClass, StepTimes
from nona.language.workflows.engines import prepare_language
from nona.queries.system import SharedNetwork
from nona.scenario.file import scenario_from_mapping
from tests.language.test_engines import milliseconds, one_engine, requests_at

H100 = StepTimes(6.367e-3, 11.2e-6, 41.9e-9, 17.6e-6)


def system(rate: float, tokens: np.ndarray, steps: StepTimes = H100, **engine: object) -> LanguageSystem:
    row = RequestClass("chat", "llm", rate, Lengths(tokens))
    return LanguageSystem((Engine("gpu", "llm", steps, **{"blocks": 40_000, **engine}),), (row,))


def steady(of: LanguageSystem, jobs: int = 12_000, replication: int = 0) -> RouterReplication:
    requests = draw_requests(of, jobs + 4000, replication)
    return simulate_once(of, requests, "round-robin", MeasuredWindow(jobs, 2000, replication))


def tpot_s(run: RouterReplication) -> float:
    k, times = run.measured, run.times
    outputs = run.requests.outputs[k]
    many = outputs > 1
    return float(((times.end_s[k] - times.first_s[k])[many] / (outputs[many] - 1)).mean())


@pytest.mark.parametrize(("rate", "n", "m"), [(10, 512, 128), (30, 512, 128), (10, 1024, 256)])
def test_the_formula_says_the_time_per_token_and_the_cache(rate: float, n: int, m: int) -> None:
    of = system(rate, np.array([[n, m]]), budget=16_384, sequences=1024)
    said, runs = predict(of, 0), [steady(of, replication=r) for r in range(3)]
    assert said is not None
    assert np.mean([tpot_s(r) for r in runs]) == pytest.approx(said.tpot_s, rel=0.01)
    held = np.mean([r.sums.kv_area.sum() / (r.over_s - r.begin_s) for r in runs])
    assert held == pytest.approx(said.kv_tokens, rel=0.02)


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(20))
def test_the_formula_holds_of_systems_that_nobody_chose(seed: int) -> None:
    """Drawn GPUs, lengths and loads up to 0.7; caches are larger than needed."""
    rng = np.random.default_rng(seed)
    gpu, gpus = [("h100", 1), ("a100-80gb", 1), ("l40s", 1), ("h200", 1), ("h100", 4)][seed % 5]
    model = "llama-3.1-8b" if gpus == 1 else "llama-3.1-70b"
    cv = float(rng.choice([0.0, 0.5, 1.0, 1.5]))
    means = {"input": int(rng.integers(100, 2500)), "output": int(rng.integers(50, 500))}
    llm = {"model": model, "tokens": {side: {"mean": mean, "cv": cv} for side, mean in means.items()}}
    row = {"name": "chat", "rate": "1/s", "llm": llm}
    server = {"gpu": gpu, "gpus": gpus, "engine": {"tp": gpus, "blocks": 200_000}}
    data = {"version": 1, "cluster": {"servers": [server]}, "workload": [row], "schedulers": ["round-robin"]}
    one = prepare_language(scenario_from_mapping(data)).system
    rate = float(rng.uniform(0.15, 0.7)) / engines_busy(one.engines[0], one.rows)
    of = replace(one, rows=(replace(one.rows[0], rate=rate),))
    said = predict(of, 0)
    assert said is not None
    runs = [steady(of, 8000, r) for r in range(2)]
    assert np.mean([tpot_s(run) for run in runs]) == pytest.approx(said.tpot_s, rel=0.07)
    held = np.mean([r.sums.kv_area.sum() / (r.over_s - r.begin_s) for r in runs])
    assert held == pytest.approx(said.kv_tokens, rel=0.15)


def test_another_analysis_of_the_same_engine_agrees() -> None:
    """The example of inferno's analyser (llm-d, ``solution-optimize.json``): a birth-death chain of its own.

    12 ms a step, 50 us for each token computed, 0.5 us for each read; 128 and 512 tokens, 48 at a time.
    """
    steps = StepTimes(12e-3, 50e-6, 0.5e-6, 50e-6)
    of = system(2.9494622, np.array([[128, 512]]), steps, sequences=48, budget=8192)
    said, runs = predict(of, 0), [steady(of, 8000, r) for r in range(3)]
    assert said is not None
    assert said.tpot_s == pytest.approx(19.9053e-3, rel=0.005)
    assert np.mean([tpot_s(r) for r in runs]) == pytest.approx(19.9053e-3, rel=0.01)
    running = np.mean([r.sums.running_area.sum() / (r.over_s - r.begin_s) for r in runs])
    assert running == pytest.approx(30.1359, rel=0.025)


def test_time_per_token_depends_on_the_mean_answer_alone() -> None:
    """Decode only: processor sharing is insensitive. (30/s, 100 tokens, 6.5 ms, 0.2 ms): E[T] = 1.675 s."""
    rng = np.random.default_rng(5)
    answers = {
        "fixed": np.full(4096, 100),
        "geometric": rng.geometric(0.01, 65_536),
        "bimodal": np.where(rng.random(65_536) < 0.5, 20, 180),
    }
    for name, m in answers.items():
        tokens = np.column_stack((np.ones(len(m), dtype=np.int64), m))
        of = system(30, tokens, StepTimes(6.5e-3, 0.2e-3), budget=16_384, sequences=4096)
        e2e = [
            float((r.times.end_s - r.times.arrival_s)[r.measured].mean())
            for r in (steady(of, 20_000, k) for k in range(3))
        ]
        assert np.mean(e2e) == pytest.approx(1.675, rel=0.03), name


@pytest.mark.parametrize("router", ["round-robin", "least-requests", "least-kv", "kv-live"])
def test_a_closed_loop_keeps_its_number(router: str) -> None:
    """Little's law: concurrency = throughput · time in the system."""
    row = RequestClass("users", "llm", 0.0, Lengths(np.array([[200, 50]])), concurrency=12)
    engines = tuple(Engine(f"gpu {k}", "llm", H100, blocks=2000) for k in range(3))
    of = LanguageSystem(engines, (row,))
    run = simulate_once(of, draw_requests(of, 4000, 0), router, MeasuredWindow(3000, 500))
    k, times = run.measured, run.times
    span = times.end_s[k].max() - times.arrival_s[k].min()
    assert len(k) / span * (times.end_s - times.arrival_s)[k].mean() == pytest.approx(12, rel=0.02)


A100, L40S = (
    StepTimes(11.567e-3, 31.6e-6, 81.9e-9, 54.4e-6, 3.31e-9),
    StepTimes(22.212e-3, 34.6e-6, 191e-9, 55.6e-6, 8.36e-9),
)
LARGE = StepTimes(15.18e-3, 31.7e-6, 27e-9, 56.5e-6, 2.74e-9)  # 70B on four H100


@pytest.mark.parametrize(
    ("steps", "n", "m", "users", "milliseconds"),
    [
        (replace(H100, q=1.69e-9), 512, 128, 16, 7.813),
        (replace(H100, q=1.69e-9), 1024, 256, 32, 10.601),
        (A100, 1024, 256, 32, 22.850),
        (L40S, 1024, 256, 32, 39.723),
        (LARGE, 1024, 256, 32, 24.003),
    ],
)
def test_time_per_token_of_a_closed_loop_is_near_aiconfigurator(steps, n, m, users, milliseconds) -> None:
    """AIConfigurator 0.12.0, ``estimate --estimate-mode agg --backend vllm``."""
    row = RequestClass("users", "llm", 0.0, Lengths(np.array([[n, m]])), concurrency=users)
    of = LanguageSystem((Engine("gpu", "llm", steps, blocks=40_000),), (row,))
    run = simulate_once(of, draw_requests(of, 1000, 0), "round-robin", MeasuredWindow(700, 200))
    assert 1e3 * tpot_s(run) == pytest.approx(milliseconds, rel=0.1)


def test_more_cache_preempts_no_more_and_time_has_no_unit() -> None:
    requests = requests_at(0.05 * np.arange(1, 201), 512, 256)
    most = math.inf
    for blocks in (600, 900, 1600):
        run = simulate_once(one_engine(blocks=blocks), requests, "round-robin", MeasuredWindow(200))
        assert run.times.preemptions.sum() <= most
        most = run.times.preemptions.sum()
    slow = replace(H100, a=2 * H100.a, b=2 * H100.b, g=2 * H100.g, c=2 * H100.c)
    engines = [Engine("gpu", "llm", steps, blocks=600) for steps in (H100, slow)]
    late = requests_at(0.1 * np.arange(1, 201), 512, 256)
    row = RequestClass("chat", "llm", 1.0, Lengths(np.array([[512, 256]])))
    runs = [
        simulate_once(LanguageSystem((e,), (row,)), q, "round-robin", MeasuredWindow(200))
        for e, q in zip(engines, (requests, late), strict=True)
    ]
    assert runs[1].over_s == pytest.approx(2 * runs[0].over_s, rel=1e-12)


def test_prompts_computed_apart_wait_for_the_link() -> None:
    """One prompt at a time: the first token comes after prompt, transfer and one step of the other side."""
    row = RequestClass("chat", "llm", 1.0, Lengths(np.array([[1000, 10]])))
    roles = ("prefill", "decode")
    engines = tuple(
        Engine(r, "llm", H100, blocks=4000, role=r, server=k, kv_bytes=131_072.0) for k, r in enumerate(roles)
    )
    of = LanguageSystem(engines, (row,), SharedNetwork(make_topology(2, 1.25e9), 1e-3))
    run = simulate_once(of, requests_at([0.0, 10.0], 1000, 10), "round-robin", MeasuredWindow(2))
    prompt_s = H100.seconds(0, 0, 1000, 0.0)
    sent_s = 1000 * 131_072 / 1.25e9 + 1e-3
    assert run.times.sent_s == pytest.approx([sent_s, sent_s])
    assert (run.times.first_s - run.times.arrival_s)[0] == pytest.approx(
        prompt_s + sent_s + H100.seconds(0, 0, 1, 999.5)
    )


@pytest.mark.parametrize("readable", [False, True])
def test_a_prefix_is_computed_once_while_its_blocks_last(readable: bool) -> None:
    """50 blocks of each prompt of 1,000 tokens are shared; one that needs all blocks drives them out."""
    arrival_s, inputs = np.arange(6) * 10.0, np.array([1000, 1000, 1000, 1500, 1000, 1000])
    prefix = np.array([0, 0, 0, -1, 0, 0])
    requests = replace(requests_at(arrival_s, inputs, 4), prefix=prefix, shared=np.where(prefix < 0, 0, 800))
    of = one_engine(blocks=94, shares_prefixes=True)
    run = simulate_once(of, requests, "round-robin", MeasuredWindow(6), readable)
    assert run.sums.hits[0] == 3 * 800  # of the second, third and last
    assert run.sums.prefill[0] == inputs.sum() - 3 * 800
    ttft_s = run.times.first_s - run.times.arrival_s
    assert ttft_s[[1, 2]] == pytest.approx(ttft_s[[5, 5]])
    assert ttft_s[1] < ttft_s[0] == pytest.approx(ttft_s[4])


class _Roofline:
    """Step times of BLIS v0.7.15 on an H100, in whole microseconds."""

    def __init__(self, hidden: int, layers: int, heads: int, kv: int, ff: int) -> None:
        self.shape = hidden, layers, heads, kv, ff

    def __call__(self, server: Server) -> float:
        hidden, layers, heads, kv, ff = self.shape
        flops, loaded = [0.0, 0.0], 2.0 * layers * (2 * hidden**2 + 2 * hidden * kv + 2 * hidden * ff)
        for r in server.members:
            s, x = r.computed, r.step
            e = s + (x - 1) / 2 if x > 1 else s
            dense = 2 * x * (hidden**2 + 2 * hidden * kv) + 2 * x * hidden**2 + 4 * x * hidden * ff
            attention = 4 * heads * x * e * 128 + 5 * heads * x * e + 2 * x * hidden
            flops[s >= r.inputs] += layers * (dense + attention)
            loaded += 4 * layers * kv * (s + x) + 2 * layers * hidden * x
        compute_s = flops[0] / (989.5e12 * 0.45) + flops[1] / (989.5e12 * 0.30)
        return max(1, int(max(compute_s, loaded / 3.35e12) * 1e6)) * 1e-6


SEVEN, EIGHT = (4096, 32, 32, 4096, 11008), (4096, 32, 32, 1024, 14336)
BLIS = [
    (SEVEN, 99_999e-6 * np.arange(1, 201), 512, 128, {"blocks": 7463}, 5438, (13.586, 3.699, 483.311)),
    (EIGHT, 0.5 * np.arange(1, 101), 6000, 64, {"blocks": 20_000}, 6600, (158.850, 3.281, 365.524)),
    (
        EIGHT,
        1e-3 * np.arange(1, 301),
        1024,
        128,
        {"blocks": 20_000, "budget": 8192, "sequences": 128},
        390,
        (4304.055, 25.294, 7516.337),
    ),
]


@pytest.mark.parametrize(("shape", "arrival_s", "n", "m", "engine", "steps", "means"), BLIS)
def test_the_readable_loop_equals_blis_to_the_microsecond(
    monkeypatch, shape, arrival_s, n, m, engine, steps, means
) -> None:
    """Means of the time to the first token, per token and to the last, from BLIS v0.7.15 (f90a1e3)."""
    times = _Roofline(*shape)
    monkeypatch.setattr(Server, "seconds", lambda server: times(server))
    requests, window = requests_at(arrival_s, n, m), MeasuredWindow(len(arrival_s))
    run = simulate_once(one_engine(**engine), requests, "round-robin", window, readable=True)
    got = milliseconds(run)
    assert int(run.sums.steps.sum()) == steps
    assert (got["ttft"], got["tpot"], got["e2e"]) == means


def test_shipped_steps_are_those_that_we_measured():
    """Nothing of these went into the constants; attention over prompts is another kernel there."""
    steps = beside_steps()
    assert len(steps) == 62
    decodes = {gpu: [abs(s.error) for s in steps if s.decodes and s.gpu == gpu] for gpu in ("h100", "h200")}
    assert max(decodes["h100"]) < 0.045
    assert max(decodes["h200"]) < 0.11
    assert sum(decodes["h200"]) < 0.04 * len(decodes["h200"])
    assert max(abs(s.error) for s in steps if s.prompt) < 0.21
    assert "4.0 % on the H100 and 10.4 % on the H200, prompts within 20 %" in steps_finding(steps)


def test_a_bound_on_engines_leaves_out_what_a_prefix_may_spare_and_no_more() -> None:
    steps = StepTimes(a=5e-3, b=1e-5, g=1e-8, c=2e-5, q=1e-9)
    tokens, prefix = np.array([[1000, 50], [600, 80]]), np.array([[0, 400], [0, 400]])
    of = system(10.0, tokens, steps, shares_prefixes=True)
    row = replace(of.rows[0], lengths=Lengths(tokens, prefix=prefix))
    rest = replace(row, lengths=Lengths(tokens - [400, 0]))

    def busy(row: RequestClass, shares: bool, role: str) -> float:
        return engines_busy(replace(of.engines[0], shares_prefixes=shares, role=role), [row])

    assert busy(row, True, "prefill") == busy(rest, False, "prefill") < busy(row, False, "prefill")
    assert busy(row, True, "decode") == busy(row, False, "decode") > 0
    assert busy(of.rows[0], True, "both") == busy(of.rows[0], False, "both"), "no prefix, nothing to spare"
    run = steady(replace(of, rows=(row,)), 4000)
    assert busy(row, True, "both") < run.sums.busy_s[0] / (run.over_s - run.begin_s)
    assert run.sums.hits[0] > 0
    assert predict(replace(of, rows=(row,)), 0) is None, "it knows of no hits"
