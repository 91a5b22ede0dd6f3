"""KV between engines crosses links as a query's message would: by hand, in the limit, behind others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reference_engine import simulate_once
from sizes import first

from nona.cluster.topology import make_topology
from nona.language.records import MeasuredWindow, Requests, RouterReplication
from nona.language.routers import NUMBERS
from nona.language.system import Engine, LanguageSystem, StepTimes
from nona.language.workflows.engines import prepare_language
from nona.language.workflows.following import CoupledQueries
from nona.language.workflows.simulation import simulate_language
from nona.queries.system import BackgroundStream, SharedNetwork
from nona.scenario.file import scenario_from_mapping
from tests.language.test_engines import STEPS, drawn_system, requests_at, row
from tests.language.test_requests_after_queries import ENGINE, LLM, SPLIT, scenario

SIZE = 1000 * 131_072.0  # bytes of the KV of 1,000 tokens
LATENCY_S = 1e-3
TEN_MS = StepTimes(0.01)


def apart(servers: dict[str, int], network: SharedNetwork, steps: StepTimes = TEN_MS) -> LanguageSystem:
    """Engines by name on their servers; the role of each begins its name."""
    engines = tuple(
        Engine(name, "llm", steps, blocks=4000, role=name.split()[0], server=server, kv_bytes=131_072.0)
        for name, server in servers.items()
    )
    return LanguageSystem(engines, (row(),), network)


def run_of(
    system: LanguageSystem, requests: Requests, readable: bool, router: str = "round-robin"
) -> RouterReplication:
    return simulate_once(system, requests, router, MeasuredWindow(len(requests)), readable)


@pytest.mark.parametrize("readable", [False, True])
@pytest.mark.parametrize(
    ("decoder", "slowest"), [(0, None), (1, 2e9), (2, 0.5e9)], ids=["one server", "one rack", "two racks"]
)
def test_alone_it_takes_the_time_of_the_slowest_link_and_the_latency(decoder, slowest, readable) -> None:
    network = SharedNetwork(make_topology(4, 1e9, nic=2e9, rack_size=2, uplink=0.5e9), LATENCY_S)
    system = apart({"prefill": 0, "decode": decoder}, network)
    run = run_of(system, requests_at([0.0, 10.0], 1000, 5), readable)
    alone_s = SIZE / slowest + LATENCY_S if slowest else 0.0
    assert run.times.sent_s == pytest.approx([alone_s, alone_s], abs=1e-12)
    # prompt, way, then the last token of the prompt once more
    assert run.times.first_s - run.times.arrival_s == pytest.approx(0.01 + alone_s + 0.01)


@pytest.mark.parametrize("readable", [False, True])
def test_the_second_of_two_senders_waits_for_the_receivers_card(readable) -> None:
    """Both prompts end at 10 ms; the cards out and the core carry both at once, the card in does not."""
    network = SharedNetwork(make_topology(3, 1e12, nic=1e9), LATENCY_S)
    system = apart({"prefill 1": 0, "prefill 2": 1, "decode": 2}, network)
    run = run_of(system, requests_at([0.0, 0.0], 1000, 5), readable)
    each_s = SIZE / 1e9
    assert run.times.sent_s == pytest.approx([each_s + LATENCY_S, 2 * each_s + LATENCY_S])
    # two receivers: nobody waits, but for the core's 0.1 ms
    system = apart({"prefill 1": 0, "prefill 2": 1, "decode 1": 2, "decode 2": 2}, network)
    shared = run_of(system, requests_at([0.0, 0.0], 1000, 5), readable)
    assert shared.times.sent_s == pytest.approx(run.times.sent_s)  # one server has one card
    network = SharedNetwork(make_topology(4, 1e12, nic=1e9), LATENCY_S)
    system = apart({"prefill 1": 0, "prefill 2": 1, "decode 1": 2, "decode 2": 3}, network)
    run = run_of(system, requests_at([0.0, 0.0], 1000, 5), readable)
    core_s = SIZE / 1e12
    assert run.times.sent_s == pytest.approx([each_s + LATENCY_S, each_s + core_s + LATENCY_S])


@pytest.mark.parametrize("seed", first(6, range(60)))
def test_one_link_is_the_limit_of_cards_that_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn, requests, window = drawn_system(rng)
    roles, steps_s = ("prefill", "prefill", "decode", "decode"), rng.uniform(0.01, 0.02, 4)
    engines = tuple(
        replace(
            drawn.engines[0], name=f"{role} {k}", role=role, server=k, blocks=400, steps=StepTimes(steps_s[k])
        )
        for k, role in enumerate(roles)
    )
    rows = tuple(replace(r, priority=0, concurrency=0) for r in drawn.rows)
    # KV of one instant joins the core in order of arrival in both: prompts start in it, none is preempted
    requests = replace(requests, arrival_s=np.cumsum(rng.exponential(0.013, len(requests))))
    for router in NUMBERS:
        runs = []
        for cards in ({}, {"nic": 1e30, "rack_size": 2, "uplink": 1e30}):
            links = make_topology(4, 1e9, **cards)
            others = (
                BackgroundStream(20.0, 1e6, 1.0),
                *[BackgroundStream()] * (links.links - 1),
            )  # on the core
            system = LanguageSystem(engines, rows, SharedNetwork(links, 1e-4, messages=others))
            runs.append(simulate_once(system, requests, router, window))
        k = runs[0].measured
        for one, other in zip(runs[0].times, runs[1].times, strict=True):
            np.testing.assert_array_equal(one[k], other[k])
        for one, other in zip(runs[0].sums, runs[1].sums, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("readable", [False, True])
def test_a_router_with_the_links_in_sight_spares_the_slow_one(readable) -> None:
    """The first decoder stands in another rack, behind a slow uplink; nobody else is there."""
    network = SharedNetwork(make_topology(4, 1e9, nic=1e9, rack_size=2, uplink=1e8), 0.0)
    system = apart({"prefill": 0, "decode far": 2, "decode near": 1}, network)
    requests = requests_at([0.0, 10.0, 20.0], 1000, 5)
    decoders = {name: run_of(system, requests, readable, name).times.decoder.tolist() for name in NUMBERS}
    assert decoders["kv-live"] == [2, 2, 2]
    assert decoders["least-requests"] == decoders["least-kv"] == [1, 1, 1]


@pytest.mark.parametrize("readable", [False, True])
def test_a_router_sees_what_is_on_its_way(readable) -> None:
    """Two prompts set out 1 ms apart, over a link that takes 131 ms: the second goes to the other decoder."""
    servers = {"prefill 1": 0, "prefill 2": 1, "decode 1": 2, "decode 2": 3}
    system = apart(servers, SharedNetwork(make_topology(4, 1e9), 0.0), STEPS)
    requests = requests_at([0.0, 0.001], 1000, 5)
    for name in ("least-requests", "least-kv", "kv-live"):
        assert run_of(system, requests, readable, name).times.decoder.tolist() == [2, 3]


def test_the_messages_of_queries_stand_on_the_links_that_they_cross() -> None:
    """Three servers with tasks, then the engines; cards that do not matter, so that the core is one queue."""
    data: dict[str, Any] = scenario([{"name": "answer", "rate": "5/s", "llm": LLM}], jobs=2000)
    data["models"] = {"find": SPLIT}
    roles = [{"gpu": "h100", "engine": {**ENGINE, "role": role}} for role in ("prefill", "decode")]
    data["cluster"] = {
        "servers": [{"count": 3, "gpu": "l4"}, *roles],
        "network": {"capacity": "8 Gbit/s", "nic": "8 Tbit/s"},
    }
    data["schedulers"][0] = "spread"
    study = prepare_language(scenario_from_mapping(data))
    links = study.system.network.topology
    messages = dict(
        zip(
            links.link_names,
            CoupledQueries.prepare(study.scenario, study.sources).messages(links),
            strict=True,
        )
    )
    tensors = messages["core"]
    for way in ("out", "in"):
        loads = [messages[f"server {k} {way}"].rate * messages[f"server {k} {way}"].mean for k in range(5)]
        assert sum(loads) == pytest.approx(tensors.rate * tensors.mean)
        assert loads[3:] == [0, 0]
    report = simulate_language(study).report
    assert any("of the link 'core' under spread" in line for line in report.warnings)
    alone_s, tensor_s = 200 * study.system.engines[0].kv_bytes / 1e9, tensors.mean / 1e9
    load = 5 * alone_s + tensors.rate * tensor_s
    wait_s = (5 * alone_s**2 + tensors.rate * tensor_s**2) / (2 * (1 - load))  # Pollaczek and Khinchine
    sent_s = report.schedulers["round-robin"].models["answer"].sent_s
    assert sent_s == pytest.approx(alone_s + wait_s, rel=0.04)
