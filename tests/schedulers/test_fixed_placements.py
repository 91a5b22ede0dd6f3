"""Presets, the expert's table, and that local and spread are what the placement calls so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduler_cases import fork_join_chain, random_view, slides_query, system_of
from sizes import examples

from nona.contraction.task_graph import TaskGraph
from nona.decomposition import Decomposition, SubGraph
from nona.errors import SimulationError
from nona.placement.fixed import (
    PRESETS,
    branches_of,
    idle_presets,
    local_placement,
    place_fixed,
    spread_placement,
    traffic_of,
)
from nona.placement.prediction import predict
from nona.schedulers.registry import get_scheduler
from nona.system import QueryClass, Stream


def bound(system, name, options=None, query=0, seed=0):
    """Executors of one job's tasks."""
    scheduler = get_scheduler(name)
    prepared = scheduler.prepare(system, None, options or {})
    rng = np.random.default_rng(seed)
    out = np.full(len(system.queries[query].tasks), -1, dtype=np.int64)
    view = random_view(system, rng)
    scheduler.decide(0.0, query, view, prepared.tables, rng.random(prepared.uniforms_per_job), out)
    return out


@pytest.mark.parametrize("cluster", [tuple(range(9)), (0, 1), (0, 0, 0), (0,), (0, 0, 1, 1, 2, 2)])
@pytest.mark.parametrize(("name", "placement"), [("local", local_placement), ("spread", spread_placement)])
def test_presets_are_the_fixed_placements_that_are_predicted(name, placement, cluster):
    system = system_of([fork_join_chain("a", [3, 0, 5], rate=0.1), slides_query()], cluster)
    for placed, query in zip(placement(system).queries, system.queries, strict=True):
        ours = place_fixed(system, query, name)
        assert [p.configurations for p in ours] == [p.configurations for p in placed]


@examples(80)
@given(
    widths=st.lists(st.integers(0, 6), max_size=4),
    seed=st.integers(0, 999),
    name=st.sampled_from(list(PRESETS)),
)
def test_presets_partition_every_interior_and_keep_roots_and_sinks_together(widths, seed, name):
    query = fork_join_chain("q", widths, seed)
    system = system_of([query])
    for placed in place_fixed(system, query, name):
        (c,) = placed.configurations
        assert sorted(t for part in c.parts for t in part) == list(placed.subgraph.interior)
        assert not c.sink_moves
    out = bound(system, "expert", {"models": {"q": name}}, seed=seed)
    assert len({out[c] for c in query.decomposition.cuts}) == 1


def test_slides_example_local_spread_and_network_aware():
    system = replace(system_of([slides_query()]), background_compute=Stream(), background_network=Stream())
    idle = replace(system, queries=(replace(system.queries[0], rate=1e-9),))
    jct = {name: predict(idle, [place_fixed(idle, idle.queries[0], name)]).jct_s for name in PRESETS}
    assert jct == pytest.approx(
        {"local": 0.022, "spread": 0.032, "keep-heaviest": 0.014, "half": 0.014}, rel=1e-5
    )
    assert idle_presets(system) == ("keep-heaviest",)


def test_half_keeps_branches_whole_and_balances_them():
    # branches {1, 2} of 5 ms, {3} of 4 ms and {4} of 2 ms between 0 and 5; the first moves most
    edges = [(0, 1, 9e6), (1, 2, 1e3), (2, 5, 9e6), (0, 3, 1e6), (3, 5, 1e6), (0, 4, 1e6), (4, 5, 1e6)]
    tasks = TaskGraph.from_edges("b", [1e-3, 2e-3, 3e-3, 4e-3, 2e-3, 1e-3], edges)
    query = QueryClass("b", tasks, Decomposition((0, 5), (SubGraph(0, 5, (1, 2, 3, 4)),)), 1.0)
    assert branches_of(traffic_of(tasks), (1, 2, 3, 4)) == [(1, 2), (3,), (4,)]
    (placed,) = place_fixed(system_of([query]), query, "half")
    assert placed.configurations[0].parts == ((1, 2), (3, 4))
    assert placed.configurations[0].root_part == 0


def test_a_shared_tensor_counts_once_in_each_direction():
    tasks = TaskGraph.from_edges("s", [1e-3] * 4, [(0, 1, 5.0), (0, 2, 5.0), (1, 3, 2.0), (2, 3, 3.0)])
    shared = replace(
        tasks,
        edge_tensor=np.array([0, 0, 1, 2]),
        tensor_source=np.array([0, 1, 2]),
        tensor_bytes=np.array([5.0, 2.0, 3.0]),
    )
    assert traffic_of(shared).moved_bytes({1, 2}) == 5 + 2 + 3
    assert traffic_of(shared).moved_bytes({1}) == 5 + 2
    assert traffic_of(shared).moved_bytes({0, 1}) == 5 + 2


def test_expert_takes_the_best_preset_of_each_model_at_an_idle_network():
    # crushing traffic makes staying at home best; free traffic makes splitting best
    heavy, light = fork_join_chain("heavy", [3], 1), fork_join_chain("light", [3], 1)
    big = replace(heavy.tasks, tensor_bytes=heavy.tasks.tensor_bytes * 1e6)
    small = replace(light.tasks, tensor_bytes=light.tasks.tensor_bytes * 1e-6)
    system = system_of([replace(heavy, tasks=big), replace(light, tasks=small)])
    first, second = idle_presets(system)
    assert first == "local"
    assert second in ("spread", "keep-heaviest")
    assert len(set(bound(system, "expert", query=0).tolist())) == 1
    assert len(set(bound(system, "expert", query=1).tolist())) > 1


def test_idle_presets_does_not_depend_on_load():
    system = system_of([slides_query(), fork_join_chain("a", [2, 3], 4)])
    busy = replace(
        system,
        background_compute=Stream(150.0, 5e-3, 4.0),
        background_network=Stream(900.0, 1e6, 1.0),
        queries=tuple(replace(q, rate=q.rate * 100) for q in system.queries),
    )
    assert idle_presets(system) == idle_presets(busy)


def test_expert_table_by_preset_and_by_parts():
    system = system_of([slides_query(), fork_join_chain("a", [4, 2], 2)])
    table = {"models": {"slides": "local", "a": [["t1", "t3", "t6"], ["t4"]]}}
    assert len(set(bound(system, "expert", table).tolist())) == 1
    out = bound(system, "expert", table, query=1)
    assert out[0] == out[2] == out[5] == out[7] == out[8]
    assert out[1] == out[3]
    assert len({out[0], out[1], out[4]}) == 3
    assert out[6] != out[0]


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"nobody": "local"}, "must map names of the workload"),
        (["local"], "must map names of the workload"),
        ({"slides": "everywhere"}, "must be a preset"),
        ({"slides": 3}, "must be a preset"),
        ({"slides": ["t1", "t2"]}, "must be a preset"),
        ({"slides": [["t9"]]}, "'t9' is not a task"),
        ({"slides": [["t1"], ["t1"]]}, "listed twice"),
        ({"slides": [["t0"]]}, "root or sink"),
    ],
)
def test_impossible_tables_are_refused_in_one_line(table, text):
    with pytest.raises(SimulationError, match=text) as error:
        bound(system_of([slides_query()]), "expert", {"models": table})
    assert "\n" not in str(error.value)
