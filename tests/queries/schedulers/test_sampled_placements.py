"""Placements drawn from tables: where parts go, by which shares; presets, the expert's table, the slides."""

from dataclasses import replace

import numpy as np
import pytest
import scheduler_cases as cases
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.core.errors import SimulationError
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import Decomposition, SubGraph
from nona.queries.placement import fixed
from nona.queries.placement.result import Configuration, SubGraphPlacement
from nona.queries.placement.solve import solve
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.schedulers.sampling_tables import build_tables
from nona.queries.system import BackgroundStream, QueryClass
from nona.scenario.arrivals import Arrivals

LOCAL = get_scheduler("local")  # draws from tables, as all here do


def decide(system, prepared, query, uniforms, view=None):
    view = view or cases.random_view(system, np.random.default_rng(0))
    return cases.bound(LOCAL, system, prepared.tables, view, uniforms, query)


def test_virtual_ends_and_single_tasks_are_placed():
    two_heads = cases.slides_query()
    virtual = Decomposition((-1, -1), (SubGraph(-1, -1, (0, 1, 2, 3)),))
    single = replace(cases.fork_join_chain("one", []), decomposition=Decomposition((0,), ()))
    system = cases.system_of([replace(two_heads, decomposition=virtual), single])
    split = Configuration(((0, 1), (2, 3)), 1, 0)
    placed = SubGraphPlacement(virtual.subgraphs[0], (split,), np.ones(1))
    prepared = build_tables(system, [[placed], []])
    out = decide(system, prepared, 0, [0.3, 0.9])
    assert out[0] == out[1] != out[2] == out[3]
    assert decide(system, prepared, 1, [0.99]).tolist() == [7]


@pytest.mark.parametrize(
    ("configuration", "p", "text"),
    [
        (Configuration(((1,),), 0, 0), [1.0], "partition the interior"),
        (Configuration(((1, 2), (2,)), 0, 0), [1.0], "partition the interior"),
        (Configuration(((1, 2),), 1, 0), [1.0], "root part 1"),
        (Configuration(((1, 2),), 0, 0), [0.7], "add up to 1"),
        (Configuration(((1, 2),), 0, 0), [np.nan], "at least 0"),
    ],
)
def test_malformed_placements_are_refused(configuration, p, text):
    system = cases.system_of([cases.slides_query()])
    placed = SubGraphPlacement(system.queries[0].decomposition.subgraphs[0], (configuration,), np.array(p))
    with pytest.raises(SimulationError, match=text):
        build_tables(system, [[placed]])


CLASSED = [
    ((0, 1, 2, 3, 4, 5), (0, 0, 0, 1, 1, 1)),
    ((0, 0, 1, 1, 2, 2), (0, 1, 0, 1, 0, 1)),
    ((0, 0, 0, 1, 2), (0, 0, 1, 1, 2)),
    ((0, 1), (0, 1)),
    ((0, 0, 0), (0, 1, 1)),
    *(
        (c, (0,) * len(c))
        for c in [range(8), (0, 0, 1, 1, 2, 2), (0, 1, 0, 2, 0, 1), (0, 0, 0), (0,), (0, 1)]
    ),
]


def classed(queries, cluster):
    servers, kinds = cluster
    names = tuple(f"k{i}" for i in range(max(kinds) + 1))
    times = [np.tile(q.tasks.compute_s, (len(names), 1)) for q in queries]
    made = [replace(q, tasks=replace(q.tasks, compute_s=t)) for q, t in zip(queries, times, strict=True)]
    of = {"executor_class": np.array(kinds, dtype=np.int64), "class_names": names}
    return replace(cases.system_of(made, servers), **of)


def told(system, query, placed, shares, uniforms, uniform, queues, choices):
    """Executors of the tasks of a job, drawn from plain lists: on unused servers, else unused, else any.

    Of two choices, which are different executors, it is the one with the shorter queue.
    """
    out, used_draws = {}, iter(uniforms)
    server = system.executor_server.tolist()
    by_server = sorted(range(system.executors), key=lambda e: (server[e], e))

    def draws():
        return [next(used_draws) for _ in range(choices)]

    def draw(us, used):
        found = []
        for u in us:
            of, fraction = candidates(u, used)
            if away := [e for e in of if e not in found]:
                found.append(away[min(int(fraction * len(away)), len(away) - 1)])
        return min(found, key=lambda e: queues[e])

    def candidates(u, used):
        listed, fraction = by_server, u
        if not uniform:
            edges = np.cumsum(shares[query][shares[query] > 0]) / shares[query].sum()
            kinds = np.flatnonzero(shares[query] > 0)
            at = min(int(np.searchsorted(edges, u, side="right")), len(kinds) - 1)
            low = edges[at - 1] if at else 0.0
            fraction = (u - low) / (edges[at] - low)
            listed = [e for e in by_server if system.executor_class[e] == kinds[at]]
        away = [e for e in listed if server[e] not in {server[o] for o in used}]
        return away or [e for e in listed if e not in used] or listed, fraction

    root = draw(draws(), [])
    out[system.queries[query].decomposition.cuts[0]] = root
    for place in placed:
        p = np.asarray(place.probabilities)
        kept = np.flatnonzero(p > 0)
        chosen = kept[0]
        if len(kept) > 1:
            at = int(np.searchsorted(np.cumsum(p[kept]) / p[kept].sum(), next(used_draws), "right"))
            chosen = kept[min(at, len(kept) - 1)]
        c = place.configurations[chosen]
        # draws of parts that the configuration does not use are left over
        used_ones = [place.configurations[i] for i in kept]
        most = max(len(x.parts) - (0 <= x.root_part < len(x.parts)) for x in used_ones)
        own = [draws() for _ in range(most)]
        used, sink = [root], root
        for number, part in enumerate(c.parts):
            e = root
            if number != c.root_part:
                e = draw(own.pop(0), used)
                used.append(e)
            if number == c.sink_part:
                sink = e
            out.update(dict.fromkeys(part, e))
        root = sink
        out[place.subgraph.sink] = root
    return [out[t] for t in range(len(system.queries[query].tasks))]


@examples(150)
@given(
    seed=st.integers(0, 10**6),
    cluster=st.sampled_from(CLASSED),
    widths=st.lists(st.integers(0, 5), max_size=3),
    alike=st.booleans(),
    choices=st.integers(1, 2),
)
def test_draws_are_those_of_plain_lists(seed, cluster, widths, alike, choices):
    """Uniform shares are the draw over all executors; other ones draw the class first, and keep it."""
    system = classed([cases.fork_join_chain("q", widths, seed), cases.slides_query()], cluster)
    rng = np.random.default_rng(seed)
    classes = len(system.class_names)
    shares = rng.dirichlet(np.ones(classes), 2)
    if classes > 1 and rng.random() < 0.5:
        shares[0, rng.integers(classes)] = 0.0
        shares /= shares.sum(axis=1, keepdims=True)
    given_shares = system.uniform_shares if alike else shares
    placement = cases.random_placement(system, seed)
    prepared = build_tables(system, placement.queries, choices, given_shares)
    for query, placed in enumerate(placement.queries):
        uniforms, view = rng.random(prepared.uniforms_per_job), cases.random_view(system, rng)
        out = decide(system, prepared, query, uniforms, view)
        drawn = (uniforms, alike or classes == 1, view.queue_length, choices)
        assert out.tolist() == told(system, query, placed, shares, *drawn)


def test_shares_that_cannot_be_drawn_are_refused():
    system = classed([cases.slides_query()], CLASSED[0])
    placement = cases.random_placement(system)
    for bad in ([[0.5, 0.6]], [[-0.5, 1.5]]):
        with pytest.raises(SimulationError, match=r"Class shares of 'slides'.*solve again"):
            build_tables(system, placement.queries, shares=np.array(bad))
    with pytest.raises(SimulationError, match="query classes, executor classes"):
        build_tables(system, placement.queries, shares=np.ones((1, 3)) / 3)


def expert(system, table=None, query=0, seed=0):
    rng, prepared = np.random.default_rng(seed), get_scheduler("expert").prepare(system, None, table or {})
    view = cases.random_view(system, rng)
    return decide(system, prepared, query, rng.random(prepared.uniforms_per_job), view)


@pytest.mark.parametrize("cluster", [tuple(range(9)), (0, 1), (0, 0, 0), (0,), (0, 0, 1, 1, 2, 2)])
@pytest.mark.parametrize(
    ("name", "placement"), [("local", fixed.local_placement), ("spread", fixed.spread_placement)]
)
def test_presets_are_the_fixed_placements_that_are_predicted(name, placement, cluster):
    system = cases.system_of([cases.fork_join_chain("a", [3, 0, 5], rate=0.1), cases.slides_query()], cluster)
    for placed, query in zip(placement(system).queries, system.queries, strict=True):
        ours = fixed.place_fixed(system, query, name)
        assert [p.configurations for p in ours] == [p.configurations for p in placed]


@examples(80)
@given(
    widths=st.lists(st.integers(0, 6), max_size=4),
    seed=st.integers(0, 999),
    name=st.sampled_from(list(fixed.PRESETS)),
)
def test_presets_partition_every_interior_and_keep_roots_and_sinks_together(widths, seed, name):
    query = cases.fork_join_chain("q", widths, seed)
    system = cases.system_of([query])
    for placed in fixed.place_fixed(system, query, name):
        (c,) = placed.configurations
        assert sorted(t for part in c.parts for t in part) == list(placed.subgraph.interior)
        assert not c.sink_moves
    out = expert(system, {"models": {"q": name}}, seed=seed)
    assert len({out[c] for c in query.decomposition.cuts}) == 1


def test_half_keeps_branches_whole_and_balances_them():
    # branches {1, 2} of 5 ms, {3} of 4 ms and {4} of 2 ms between 0 and 5; the first moves most
    edges = [(0, 1, 9e6), (1, 2, 1e3), (2, 5, 9e6), (0, 3, 1e6), (3, 5, 1e6), (0, 4, 1e6), (4, 5, 1e6)]
    tasks = TaskGraph.from_edges("b", [1e-3, 2e-3, 3e-3, 4e-3, 2e-3, 1e-3], edges)
    query = QueryClass("b", tasks, Decomposition((0, 5), (SubGraph(0, 5, (1, 2, 3, 4)),)), 1.0)
    assert fixed.branches_of(fixed.traffic_of(tasks), (1, 2, 3, 4)) == [(1, 2), (3,), (4,)]
    (placed,) = fixed.place_fixed(cases.system_of([query]), query, "half")
    assert placed.configurations[0].parts == ((1, 2), (3, 4))
    assert placed.configurations[0].root_part == 0


def test_a_shared_tensor_counts_once_in_each_direction():
    tasks = TaskGraph.from_edges("s", [1e-3] * 4, [(0, 1, 5.0), (0, 2, 5.0), (1, 3, 2.0), (2, 3, 3.0)])
    tensors = {"tensor_source": np.array([0, 1, 2]), "tensor_bytes": np.array([5.0, 2.0, 3.0])}
    moved = fixed.traffic_of(replace(tasks, edge_tensor=np.array([0, 0, 1, 2]), **tensors)).moved_bytes
    assert [moved({1, 2}), moved({1}), moved({0, 1})] == [5 + 2 + 3, 5 + 2, 5 + 2]


def test_expert_takes_the_best_preset_of_each_model_at_an_idle_network():
    # crushing traffic makes staying at home best; free traffic makes splitting best
    heavy, light = cases.fork_join_chain("heavy", [3], 1), cases.fork_join_chain("light", [3], 1)
    big = replace(heavy.tasks, tensor_bytes=heavy.tasks.tensor_bytes * 1e6)
    small = replace(light.tasks, tensor_bytes=light.tasks.tensor_bytes * 1e-6)
    system = cases.system_of([replace(heavy, tasks=big), replace(light, tasks=small)])
    first, second = fixed.idle_presets(system)
    assert first == "local"
    assert second in ("spread", "keep-heaviest")
    assert len(set(expert(system).tolist())) == 1
    assert len(set(expert(system, query=1).tolist())) > 1
    busy = {
        "background_compute": BackgroundStream(150.0, 5e-3, 4.0),
        "background_network": BackgroundStream(900.0, 1e6, 1.0),
    }
    loaded = tuple(replace(q, rate=q.rate * 100) for q in system.queries)  # the load does not matter
    assert fixed.idle_presets(replace(system, queries=loaded, **busy)) == (first, second)


def test_expert_table_by_preset_and_by_parts():
    system = cases.system_of([cases.slides_query(), cases.fork_join_chain("a", [4, 2], 2)])
    table = {"models": {"slides": "local", "a": [["t1", "t3", "t6"], ["t4"]]}}
    assert len(set(expert(system, table).tolist())) == 1
    out = expert(system, table, query=1)
    assert out[0] == out[2] == out[5] == out[7] == out[8]
    assert out[1] == out[3]
    assert len({out[0], out[1], out[4]}) == 3
    assert out[6] != out[0]


SYSTEM = cases.quiet(
    cases.system_of([replace(cases.slides_query(), arrivals=Arrivals(process="deterministic"))])
)


@pytest.mark.parametrize(
    ("name", "options", "jct_s"),
    [
        ("local", {}, 0.022),
        ("spread", {}, 0.032),
        ("expert", {}, 0.014),
        ("expert", {"models": {"slides": [["t1"]]}}, 0.032),
        ("expert", {"models": {"slides": [["t2"]]}}, 0.014),
        ("expert", {"models": {"slides": "half"}}, 0.014),
        ("nona", {}, 0.014),
        ("nona-d2", {}, 0.014),
        ("flexflow", {}, 0.014),
        ("nona-live", {}, 0.014),
        ("least-loaded-d", {}, 0.022),
        # task 2 follows task 1 at home, task 3 goes elsewhere; the sink is picked when both are done, at
        # 12 ms, where task 2 ran; only then is task 3's output (1 ms) sent there: 2 + 10 + 1 + 2 ms
        ("spark-fair", {}, 0.015),
        ("spark-fifo", {}, 0.015),
    ],
)
def test_a_job_alone(name, options, jct_s):
    placement = solve(SYSTEM) if get_scheduler(name).needs_placement else None
    run = cases.run_of(SYSTEM, name, placement, options, jobs=50, warmup=2)
    assert run.completion_time_s == pytest.approx([jct_s] * 50, abs=1e-9)


def test_opportunistic_ignores_the_network():
    # at worst both children and the sink go elsewhere: 2 + (1 + 9) + 10 + (9 + 1) + 2 ms
    jct = cases.run_of(SYSTEM, "opportunistic", jobs=50, warmup=2).completion_time_s
    assert 0.014 - 1e-9 <= jct.min() <= jct.max() <= 0.034 + 1e-9
    assert jct.mean() > 0.022
