"""Offered load, live charts and the drawing of a cluster, against the numbers they are made from."""

import json
import math
from itertools import islice

import numpy as np
import pytest
from drawn import texts
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson
from sizes import examples

from nona.app.pages.scenario.cluster_drawing import MOST_SERVERS, MOST_UNITS, cluster_tree
from nona.cluster.hardware.cluster import Cluster, Network, Racks, ServerGroup
from nona.cluster.topology import make_topology
from nona.queries.chart_data import LinkLoad, LiveLine, ResourceLoad
from nona.queries.placement.capacity import allowed_classes, executor_utilization, loads_of
from nona.queries.report.clusters import background_load, cluster_map, executors
from nona.queries.report.live import BINS, IntervalMeans, LiveSeries, bin_edge_s
from nona.queries.report.workloads import (
    BURSTY,
    GAP_BINS,
    LARGEST_GAP,
    arrival_sample,
    bursts_index,
    busy_in_batches,
    dispersion,
    load_text,
    offered_load,
    regularity,
    slo_text,
)
from nona.queries.simulation.collected import UNKNOWN, Busy, RunProgress
from nona.queries.simulation.workload import Workload
from nona.queries.workflows.preparation import prepare
from nona.scenario.arrivals import Arrivals, arrival_chunks
from nona.scenario.file import scenario_from_mapping
from tests.core.filled import but

SCENARIO = {
    "version": 1,
    "seed": 11,
    "cluster": {"servers": [{"count": 2}, {"count": 1, "mig": "3g.20gb, 3g.20gb"}]},
    "background": {"compute": {"utilization": 0.2}},
    "workload": [
        {"model": "resnet18", "rate": "200/s"},
        {"model": "slides_example", "rate": "10/s", "arrivals": {"process": "gamma", "cv": 3}},
        {"model": "resnet18", "rate": "20/s", "batch": 4},
    ],
}


def test_the_load_is_that_of_the_placement():
    study = prepare(scenario_from_mapping(SCENARIO))
    system = study.system
    background, queries = executor_utilization(system)
    seconds = np.array([[costed.total_compute_s for costed in m.costed] for m in study.models])
    rates = np.array([q.rate for q in system.queries])
    counts = dict(zip(system.class_names, system.class_counts.tolist(), strict=True))
    found = offered_load(rates.tolist(), seconds, counts, seconds > 0, background)
    assert (found.background, found.even) == pytest.approx((0.2, max(queries)), rel=1e-9)
    best = loads_of(system, allowed_classes(system)).least_peak()[0]
    assert found.background + found.best == pytest.approx(best, rel=1e-6)
    assert found.kind == "a100-40gb/3g.20gb"
    assert sum(found.shares) == pytest.approx(1)
    full = offered_load((rates * 0.8 / found.best).tolist(), seconds, counts, seconds > 0, background)
    assert full.background + full.best == pytest.approx(1)


@pytest.mark.parametrize("load", [0.2, 0.5, 0.8])
def test_the_busy_share_with_batches_is_that_of_the_queue_embedded_at_the_ends_of_steps(load):
    """Steps of 1 to 4 take 1, 1.1, 1.2 and 1.3 s: far less busy in full batches than they are."""
    step_s = np.array([1.0, 1.1, 1.2, 1.3])
    rate = load * 4 / step_s[-1]
    n, states = np.arange(200), 200
    chain = np.zeros((states, states))
    for left in range(states):
        begin = max(left, 1)
        members = min(begin, 4)
        to = begin - members
        come = poisson.pmf(n, rate * step_s[members - 1])
        chain[left, to:] = come[: states - to]
    stay = np.linalg.matrix_power(chain / chain.sum(axis=1, keepdims=True), 4096)[0]
    work = float(stay @ step_s[np.minimum(np.maximum(n, 1), 4) - 1])
    busy = work / (work + stay[0] / rate)
    assert busy_in_batches([rate], [step_s]) == pytest.approx(busy, rel=0.03)
    halves = busy_in_batches([rate / 2, rate / 2], [step_s, step_s])
    assert load < busy <= halves + 0.03
    said = load_text("executors", 0.0, load, busy=busy)
    assert said.startswith(
        f"In full batches the mix would need {100 * load:.3g} % of the executors, which are busy"
    )


@examples(60)
@given(st.floats(0, 0.99), st.floats(0, 3))
def test_the_sentence_tells_overload_exactly(background, queries):
    text = load_text("link", background, queries)
    assert ("overloaded" in text) == (background + queries >= 1)
    assert text.endswith(".")


@pytest.mark.parametrize(
    ("bounds", "kind"),
    [
        ({}, "ok"),
        ({"SLO": 0.0139}, "never"),
        ({"SLO": 0.014}, "split"),
        ({"SLO": 0.0219, "p50": 1.0}, "split"),
        ({"p95": 0.022}, "ok"),
        ({"SLO": 0.05, "mean": 0.0139}, "never"),
    ],
)
def test_what_is_possible_of_the_tightest_bound(bounds, kind):
    found, text = slo_text(bounds, 0.022, 0.014, False)
    assert found == kind
    assert "14 ms" in text
    assert ("No SLO and no target is set" in text) == (not bounds)
    if bounds:
        assert f"{min(bounds, key=bounds.get)} of " in text
    if kind == "never":
        assert "rarely" in slo_text(bounds, 0.022, 0.014, True)[1]


@pytest.mark.parametrize(
    ("arrivals", "cv"),
    [
        (Arrivals(), 1.0),
        (Arrivals("gamma", cv=3.0), 3.0),
        (Arrivals("gamma", cv=0.3), 0.3),
        (Arrivals("deterministic"), 0.0),
        (Arrivals("trace", times_s=tuple(map(float, range(120)))), 0.0),
    ],
)
def test_samples_have_the_spread_of_their_process(arrivals, cv):
    sample = arrival_sample(arrivals, 50.0, 3, "x")
    assert sample.cv == pytest.approx(cv, rel=0.2, abs=1e-9)
    assert sample.density.sum() * LARGEST_GAP / GAP_BINS + sample.beyond == pytest.approx(1)
    assert math.isfinite(sample.window_s)
    assert cv or np.ptp(sample.counts) == 0, "what is constant is flat to the last piece"


@pytest.mark.parametrize("seed", range(6))
def test_slow_bursts_of_which_gaps_say_nothing_are_named_and_the_window_shows_one(seed):
    """Three times the rate for 10 s in a tenth of the time: the CV of gaps is near 1."""
    slow = Arrivals("mmpp", burst_factor=3, burst_fraction=0.1, burst_mean_s=10)
    sample = arrival_sample(slow, 100.0, seed, "x")
    assert sample.cv < 1.3
    assert sample.index > 100
    assert sample.counts.max() > 2 * np.median(sample.counts)
    assert regularity(sample, slow).startswith("bursts of 3 times the rate for 10 s, in 10 % of the time: ")


def test_the_index_of_bursts_is_the_variance_of_their_numbers_over_the_mean():
    bursts = Arrivals("mmpp", burst_factor=4, burst_fraction=0.2, burst_mean_s=3)
    index, scale_s = bursts_index(bursts, 10.0)
    chunks, times = arrival_chunks(bursts, 10.0, np.random.default_rng(4)), np.zeros(0)
    while len(times) < 400_000:
        times = np.concatenate([times, *islice(chunks, 20)])
    counts, _ = np.histogram(
        times, bins=int(times[-1] / scale_s), range=(0, int(times[-1] / scale_s) * scale_s)
    )
    assert counts.var(ddof=1) / counts.mean() == pytest.approx(index, rel=0.1)
    hour = np.sort(np.random.default_rng(1).uniform(0, 3600, 36_000))
    again = np.concatenate([hour, np.random.default_rng(2).uniform(600, 700, 6000)])
    recorded = Arrivals("trace", times_s=tuple(np.sort(again).tolist()), scale_to_rate=False)
    told = regularity(arrival_sample(recorded, 1.0, 1, "x"), recorded)
    assert told.startswith("burstier than Poisson: ")
    assert dispersion(hour)[0] < BURSTY < dispersion(np.sort(again))[0]


def test_bursts_are_seen_and_the_sample_is_what_the_first_run_simulates():
    bursts = Arrivals("mmpp", burst_factor=8, burst_fraction=0.1, burst_mean_s=2)
    sample = arrival_sample(bursts, 50.0, 3, "x")
    assert sample.cv > 1.3
    assert sample.counts.max() > 3 * max(1.0, float(np.median(sample.counts)))
    system = prepare(scenario_from_mapping(SCENARIO)).system
    chunk = next(Workload(system, 0).chunks())
    for j, query in enumerate(system.queries):
        own = chunk.arrival_s[chunk.query == j]
        sample = arrival_sample(query.arrivals, query.rate, system.seed, query.name)
        within = own[own < sample.window_s]
        if own[-1] >= sample.window_s:
            counts, _ = np.histogram(within, bins=len(sample.counts), range=(0.0, sample.window_s))
            assert counts.tolist() == sample.counts.tolist()


def progress(arrival, jct, query=None, busy=(0.5, 0.25)):
    at = np.array(arrival)
    classes = np.array(query or [0] * len(at), dtype=np.int64)
    loads = Busy(np.array([busy[0] - 0.1, busy[0] + 0.1]), np.array([busy[1], 0.0])) if busy else UNKNOWN
    return RunProgress(0.5, classes, at, at + np.array(jct), loads)


@examples(80)
@given(
    st.lists(st.tuples(st.floats(0, 1e4), st.floats(1e-3, 10)), min_size=1, max_size=200),
    st.integers(1, 20).map(lambda n: 2 * n),
    st.integers(1, 7),
)
def test_means_over_stretches_are_those_of_the_values_in_them(jobs, most, pieces):
    stretches = IntervalMeans(most)
    for part in np.array_split(np.array(jobs), pieces):
        stretches.add(part[:, 0], part[:, 1])
    at, means = stretches.means()
    assert 0 < len(at) <= most
    values = np.array(jobs)
    place = ((values[:, 0] - stretches.begin_s) / stretches.width_s).astype(int).clip(0, most - 1)
    for middle, mean in zip(at, means, strict=True):
        number = round(middle / stretches.width_s - 0.5)
        assert mean == pytest.approx(values[place == number, 1].mean())


def test_one_slow_job_at_the_end_is_no_peak():
    for number in range(101, 200):
        stretches = IntervalMeans(8)
        for part in np.array_split(np.arange(float(number)), 5):
            stretches.add(part, np.where(part == number - 1, 49.0, 1.0))
        usual = stretches.width_s  # a job each second
        assert stretches.means()[1].max() <= 1 + 48 / (usual / 2 - 1)


def test_the_same_jobs_give_the_same_sums_in_pieces_and_replications_are_averaged():
    rng = np.random.default_rng(5)
    arrival, jct = np.cumsum(rng.exponential(1.0, 400)), rng.exponential(0.03, 400)
    query = rng.integers(0, 2, 400)
    slo = [0.02, None]
    whole, parts = LiveSeries(slo), LiveSeries(slo)
    whole.add("a", 1, progress(arrival.tolist(), jct.tolist(), query.tolist()))
    for k in range(0, 400, 37):
        s = slice(k, k + 37)
        parts.add("a", 1, progress(arrival[s].tolist(), jct[s].tolist(), query[s].tolist()))
    one, many = whole.snapshot()["a"], parts.snapshot()["a"]
    assert one.mean_s == pytest.approx(many.mean_s)
    assert one == but(many, mean_s=one.mean_s)
    assert one.hit_rate == np.mean(jct[query == 0] <= 0.02)
    assert whole.jobs == sum(one.counts) == 400
    live = LiveSeries([1.0])
    live.add("a", 0, progress([5.0, 6.0, 7.0], [0.25] * 3, busy=(0.2, 0.1)))
    live.add("a", 1, progress([5.0, 9.0], [2.0] * 2, busy=(0.4, 0.3)))
    found = live.snapshot()["a"]
    assert found.jct_s == (0.25,) * len(found.t)
    assert found.busy == pytest.approx([0.3, 0.2])
    assert (found.jobs, found.hit_rate) == (5, 0.6)
    assert LiveLine.from_json(json.loads(json.dumps(found.to_json()))) == found


@examples(80)
@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=50))
def test_every_completion_time_lies_in_its_bin(times):
    live = LiveSeries()
    live.add("a", 0, progress([0.0] * len(times), times))
    found = live.snapshot()["a"]
    below = 0
    for k, number in enumerate(found.counts):
        right = bin_edge_s(found.first + k + 1)
        below += number
        if found.first + k + 1 < BINS:
            exact = sum(t < right * (1 + 1e-9) for t in times), sum(t < right * (1 - 1e-9) for t in times)
            assert exact[1] <= below <= exact[0]
    assert below == len(times)


def test_loads_are_averaged_over_replications_and_absent_where_unknown():
    live = LiveSeries([1.0])
    live.add("a", 0, progress([5.0], [0.25], busy=(0.2, 0.1)))
    live.add("a", 1, progress([5.0], [2.0], busy=(0.4, 0.3)))
    found = live.loads(("core", "server 0 out"))["a"]
    assert found.executors == pytest.approx((0.2, 0.4))
    assert [(x.link, x.utilization) for x in found.each_link] == [("core", 0.2), ("server 0 out", 0.0)]
    assert found.link == pytest.approx(0.2)
    live = LiveSeries([None])
    live.add("a", 0, progress([1.0], [0.1], busy=None))
    live.add("b", 0, progress([], []))
    assert list(live.snapshot()) == ["a"]
    assert (live.snapshot()["a"].hit_rate, live.snapshot()["a"].busy) == (None, None)
    assert live.loads(("link",)) == {}


MIXED = (ServerGroup(3, gpus=2, mig="3g.20gb, 2g.10gb, 2g.10gb"), ServerGroup(2, "t4"))


def loads(cluster):
    """A load of its own for every executor and link, by their numbers."""
    network = cluster.network
    racks = (network.racks.size, network.racks.uplink) if network.racks else (None, None)
    names = make_topology(cluster.servers, network.capacity, network.nic, *racks).link_names
    each = tuple(LinkLoad(link=n, utilization=k / len(names)) for k, n in enumerate(names))
    count = len(cluster.executors)
    return ResourceLoad(executors=tuple(e / count for e in range(count)), link=0.9, links=(), each_link=each)


@pytest.mark.parametrize("network", [Network(), Network(nic=1e9), Network(nic=1e9, racks=Racks(2, 2e9))])
def test_every_executor_stands_on_its_server_with_its_load(network):
    cluster = Cluster(MIXED, network)
    load = loads(cluster)
    found = cluster_map(cluster, load)
    servers = [s for unit in found.units for s in unit.servers]
    assert [s.number for s in servers] == list(range(5))
    assert [u for s in servers for u in s.shares] == list(load.executors)
    for server in servers:
        own = [e for e in cluster.executors if e.server == server.number]
        assert len(server.shares) == len(own)
        assert len(server.gpus) == len({e.gpu for e in own})
        names = [cell.name for gpu in server.gpus for cell in gpu]
        assert names == [e.executor_class.partition("/")[2] or "GPU" for e in own]


def test_links_are_those_of_the_servers_and_racks():
    cluster = Cluster(MIXED, Network(nic=1e9, racks=Racks(2, 2e9)))
    load = loads(cluster)
    told = {x.link: x.utilization for x in load.each_link}
    found = cluster_map(cluster, load)
    assert found.share == told["core"]
    assert [len(u.servers) for u in found.units] == [2, 2, 1]
    for rack, unit in enumerate(found.units):
        assert unit.uplink == (told[f"rack {rack} up"], told[f"rack {rack} down"])
        for server in unit.servers:
            assert server.card_utilization == (
                told[f"server {server.number} out"],
                told[f"server {server.number} in"],
            )
    assert "2 × NVIDIA A100" in found.units[1].about
    assert "T4" in found.units[1].about  # the rack holds servers of both groups
    rows = executors(found).numbers()
    assert len(rows) == len(cluster.executors)
    assert rows["card in"].iloc[-1] == pytest.approx(told["server 4 in"])


def elements(node, kind):
    if isinstance(node, str):
        return []
    own = [node] if node[1].get("class") == kind else []
    return own + [e for child in node[2] for e in elements(child, kind)]


def test_few_executors_have_numbers_many_have_colours_and_thousands_stay_a_small_drawing():
    few = Cluster((ServerGroup(2, gpus=2),))
    tree = cluster_tree(few, ResourceLoad(executors=(0.1, 0.2, 0.3, 0.4), link=0.5, links=()), measured=True)
    assert {"10 %", "20 %", "30 %", "40 %", "50 % busy"} <= set(texts(tree))
    many = Cluster((ServerGroup(300, gpus=4),))
    tree = cluster_tree(many, background_load(many, 0.55, 0.2), measured=True)
    assert [len(elements(tree, kind)) for kind in ("server", "gpu")] == [300, 1200]
    cells = [e for gpu in elements(tree, "gpu") for e in gpu[2]]
    assert {e[1]["--c"] for e in cells} == {"var(--s5)"}
    assert elements(tree, "unit")[0][1]["aria-label"].endswith("GPUs 55 % busy")
    large = Cluster((ServerGroup(5000),))
    tree = cluster_tree(large, background_load(large, 0.1, 0.2), measured=True)
    assert len(elements(tree, "dot")) == MOST_SERVERS
    assert "+ 3,800 more" in texts(tree)
    racks = Cluster((ServerGroup(600),), Network(nic=1e9, racks=Racks(6, 1e10)))
    tree = cluster_tree(racks, background_load(racks, 0.1, 0.2), measured=True)
    assert len(elements(tree, "unit")) == MOST_UNITS
    assert any("68 more racks" in t and "their GPUs are 10 % busy" in t for t in texts(tree))
    cluster = Cluster(MIXED)  # without a run sizes give the colours, and nothing is said to be busy
    told = " ".join(texts(cluster_tree(cluster, background_load(cluster, 0.25, 0.5), measured=False)))
    assert ["25 % background" in told, "50 % background" in told, "busy" in told] == [True, True, False]
