"""Models and Contraction through app.py: what is drawn and said, judged by the layers alone."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from app_driver import Open, go, metrics, tab, upload_model

from nona.graph.blocks import MOST_PARTS, Cut, block_graph, modules, scope_paths
from nona.graph.readers import read_model
from nona.hardware.executor import executor_class
from nona.placement.enumeration import idle_spans
from nona.placement.messages import Link
from nona.report.models import glue_headline
from nona.sources.samples import load_sample, sample_names
from nona.study.models import PreparedModel, glued_model, prepare_model
from nona.units import format_time

DIAMOND = {
    "directed": True,
    "nodes": [{"id": n, "compute_ms": t} for n, t in (("a", 2.0), ("b", 10.0), ("c", 8.0), ("d", 2.0))],
    "edges": [
        {"source": s, "target": t, "bytes": 1000} for s, t in (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))
    ],
}


def prepared(name: str) -> PreparedModel:
    return prepare_model(load_sample(name), (executor_class("a100-40gb"),))


def show(at: Any, model: str) -> Any:
    at.session_state["nona_state"].model = model
    at.run()
    assert not at.exception
    return at


def view(at: Any) -> dict[str, Any]:
    """What the DAG view was sent."""
    found = (json.loads(c.proto.json) for c in at.get("bidi_component"))
    return next(d for d in found if "wide" in d)


def pick(at: Any, model: str) -> Any:
    """Pick a model in the list, as a click there does."""
    at.session_state["model-open"] = True
    at.session_state["model-list"] = {"picked": [model, time.monotonic_ns()]}
    at.run()
    assert not at.exception
    return at


def words(at: Any) -> str:
    """All sentences of the page, without the signs that keep Markdown from reading them."""
    return " ".join(m.value for m in [*at.markdown, *at.caption, *at.info]).replace("\\", "")


def upload(at: Any, name: str, document: object) -> Any:
    return upload_model(at, name, json.dumps(document).encode())


def test_models_shows_what_the_layers_compute(open_page: Open) -> None:
    at = open_page("2_models")
    model = prepared("resnet18")
    costed, contracted = model.costed[0], model.contracted
    tiles = metrics(at)
    assert tiles["Operators"] == str(len(model.graph.operators))
    assert tiles["Parallelism T₁/T∞"] == f"{costed.parallelism:.3f}"
    assert tiles["Work in GMAC"] == f"{sum(c.macs for c in costed.costs) / 1e9:.4g}"
    data = view(at)
    assert [n[0] for n in data["nodes"]] == [o.id for o in model.graph.operators]
    assert {tuple(e[:2]) for e in data["edges"]} == set(model.graph.dag.edges())
    assert "modelled" in words(at)
    # Sub-graph colours: equal for operators whose tasks share an interior, and one for all cut tasks.
    at_mode = [m["name"] for m in data["modes"]].index("Sub-graph")
    inner = {contracted.tasks[t].id for s in model.decomposition.subgraphs for t in s.interior}
    for node in data["nodes"]:
        assert (node[4][at_mode] == 9) is (contracted.task_of[node[0]] not in inner)
    table = tab(at, "model-tabs", "Operators").dataframe[0].value
    assert table["time µs"].sum() == pytest.approx(1e6 * costed.total_compute_s)
    assert set(table["provenance"]) <= {"measured", "calibrated", "modelled", "given"}


def test_time_colours_are_in_the_order_of_times_and_edges_say_their_bytes(open_page: Open) -> None:
    at = show(open_page("2_models"), "googlenet")
    model = prepared("googlenet")
    data = view(at)
    at_mode = [m["name"] for m in data["modes"]].index("Time")
    ordered = sorted(range(len(data["nodes"])), key=lambda i: model.costed[0].compute_s[i])
    tones = [data["nodes"][i][4][at_mode] for i in ordered]
    assert tones == sorted(tones)
    assert {100, 109} <= set(tones)
    size = {(e.source, e.target): e.size_bytes for e in model.graph.edges}
    ids = [n[0] for n in data["nodes"]]
    widths = sorted((size[ids[a], ids[b]], level) for a, b, _, level in data["edges"])
    assert [w for _, w in widths] == sorted(w for _, w in widths)
    assert (widths[0][1], widths[-1][1]) == (0.0, 1.0)


def test_an_uploaded_graph_becomes_the_model(open_page: Open) -> None:
    at = upload(open_page("2_models"), "my diamond.json", DIAMOND)
    tiles = metrics(at)
    assert tiles["Operators"] == "4"
    assert tiles["Parallelism T₁/T∞"] == f"{22 / 14:.3f}"
    assert "at most 36.4 %" in words(at)
    go(at, "3_contraction")
    assert metrics(at)["Tasks"] == "4"
    assert "4 operators become 4 tasks; 1 place is left" in words(at)
    assert "save at most 36.4 % of the computing time" in words(at)
    go(at, "1_overview")
    go(at, "2_models")
    assert metrics(at)["Operators"] == "4"  # it is still there after a walk over other pages


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x.onnx", b"not a model", "x.onnx"),
        (
            "cycle.json",
            b'{"nodes":[{"id":1},{"id":2}],"edges":[{"source":1,"target":2},{"source":2,"target":1}]}',
            "cycle",
        ),
        ("evil.exe", b"MZ", "evil.exe"),
    ],
)
def test_a_bad_file_is_one_line_beside_the_upload_and_the_model_stays(
    open_page: Open, name: str, data: bytes, said: str
) -> None:
    at = show(open_page("2_models"), "slides_example")
    upload_model(at, name, data)
    assert len(at.error) == 1
    assert said in at.error[0].value.replace("\\", "")
    assert at.session_state["model-open"] is True  # the list stands open, the error in it
    assert metrics(at)["Operators"] == "4"
    assert at.session_state["nona_state"].uploads.names() == ()
    pick(at, "googlenet")
    assert not at.error
    assert metrics(at)["Operators"] == "139"


def test_markup_in_names_stays_text(open_page: Open) -> None:
    own = "<b>x</b> $y$ [z](http://e.x)"
    at = upload(open_page("2_models"), "n.json", {"nodes": [{"id": own, "compute_ms": 1}], "edges": []})
    at.session_state["model-graph"] = {"selected": own}
    at.run()
    shown = [m.value for m in at.markdown if "y" in m.value and "z" in m.value]
    assert shown
    assert all("<b>" not in s and "[z](" not in s and "$y$" not in s for s in shown)
    assert not any(m.allow_html for m in at.markdown)


def test_a_clicked_operator_is_described_and_leads_to_its_neighbours(open_page: Open) -> None:
    at = show(open_page("2_models"), "slides_example")
    at.session_state["model-graph"] = {"selected": "2"}
    at.run()
    assert metrics(at)["Time"] == "10 ms"
    assert "task **2** (one operator)" in words(at)
    at.button(key="model-graph-Out-0-4").click().run()
    assert not at.exception
    assert view(at)["pick"] == ["4", 1]
    assert "**4** ·" in words(at)
    inputs = [b.label for b in at.button if b.key and b.key.startswith("model-graph-Inp")]
    assert inputs == ["2", "3"]


def test_a_large_model_is_drawn_by_its_modules_which_open_and_shut(open_page: Open) -> None:
    at = show(open_page("2_models"), "llama2_7b")
    graph = load_sample("llama2_7b")
    found = modules(graph.dag, scope_paths(graph), MOST_PARTS)

    def wanted(cut: Cut) -> list[int]:
        return [len(b.members) for b in block_graph(graph.dag, found.paths, cut.is_open).blocks]

    data = view(at)
    assert [n[3] for n in data["nodes"]] == wanted(found.usual)
    assert sum(n[3] for n in data["nodes"]) == len(graph.operators) == 2059
    assert data["all"] is False  # too many to be drawn one by one
    attention = ("model", "layers", "5", "self_attn")
    at.session_state["model-graph"] = {"selected": None, "ask": ["open", "block:" + "/".join(attention), 1]}
    at.run()
    opened = view(at)
    assert [n[3] for n in opened["nodes"]] == wanted(found.usual.open(attention))
    assert opened["sig"] != data["sig"]
    inside = next(n[0] for n in opened["nodes"] if n[0].startswith("model.layers.5.self_attn/"))
    at.session_state["model-graph"] = {"selected": inside, "ask": ["shut", inside, 2]}
    at.run()
    assert view(at)["sig"] == data["sig"]
    at.session_state["model-graph"] = {"selected": None, "ask": ["none", "", 3]}
    at.run()
    assert [n[3] for n in view(at)["nodes"]] == wanted(found.shortest)
    go(at, "1_overview")
    go(at, "2_models")
    assert [n[3] for n in view(at)["nodes"]] == wanted(found.shortest)  # remembered for this model
    at.session_state["model-graph"] = {"selected": None, "ask": ["all", "", 4]}
    at.run()
    assert "2,059 boxes" in view(at)["notice"]


def test_contraction_plays_the_recorded_steps(open_page: Open) -> None:
    at = open_page("3_contraction")
    contracted = prepared("resnet18").contracted
    tiles = metrics(at)
    assert tiles["Tasks"] == str(len(contracted.tasks))
    assert tiles["Steps"] == str(len(contracted.steps))
    data = view(at)
    wanted = {frozenset(t.operators) for t in contracted.tasks}
    assert replayed(data) == wanted  # what the browser gets ends in exactly the tasks
    assert [step[2] for step in data["steps"]] == [
        f"Allowed by the {s.rule} rule: {s.reason}" for s in contracted.steps
    ]


def replayed(data: dict[str, Any]) -> set[frozenset[str]]:
    owner = list(range(len(data["nodes"])))

    def find(i: int) -> int:
        while owner[i] != i:
            i = owner[i]
        return i

    for source, target, reason in data["steps"]:
        assert reason
        owner[find(target)] = find(source)
    groups: dict[int, set[str]] = {}
    for i, node in enumerate(data["nodes"]):
        groups.setdefault(find(i), set()).add(node[0])
    return {frozenset(g) for g in groups.values()}


def test_a_large_contraction_is_played_one_part_at_a_time(open_page: Open) -> None:
    at = show(open_page("3_contraction"), "llama2_7b")
    contracted = prepared("llama2_7b").contracted
    part = next(s for s in at.selectbox if s.label == "Part to play")
    part.select("model.layers.7").run()
    data = view(at)
    ids = {n[0] for n in data["nodes"]}
    own = ("model.layers.7.", "model.layers.7/")
    assert ids == {o.id for o in contracted.graph.operators if o.id.startswith(own)}
    groups = replayed(data)
    assert all(len({contracted.task_of[o] for o in group}) == 1 for group in groups)
    inner = {frozenset(t.operators) for t in contracted.tasks if ids.issuperset(t.operators)}
    assert inner <= groups  # a task that lies inside the part is played to its end


def test_the_tasks_and_what_is_left_of_them(open_page: Open) -> None:
    at = show(open_page("3_contraction"), "moe_block")
    model = prepared("moe_block")
    state = at.session_state["nona_state"]
    network = state.scenario.cluster.network
    spans = idle_spans(model.tasks, model.decomposition, Link(network.capacity, network.latency), 8)
    saved = sum(s.local_s - s.best_s for s in spans) / model.costed[0].total_compute_s
    assert f"{100 * saved:.1f} % of that" in words(at)
    tab(at, "contraction-tabs", "After: tasks")
    tasks = view(at)
    assert sum(n[3] > 1 or n[0] in model.contracted.index for n in tasks["nodes"]) == len(tasks["nodes"])
    at.session_state["tasks"] = {"selected": model.contracted.tasks[0].id}
    at.run()
    assert f"Task **{model.contracted.tasks[0].id}**" in words(at)
    frame = tab(at, "contraction-tabs", "Left to distribute").dataframe[0].value
    assert list(frame["interior tasks"]) == [len(s.subgraph.interior) for s in spans]
    one, free, here = (
        list(frame[f"{name} µs"]) for name in ("on one server", "saved at most", "saved over the link")
    )
    assert one == pytest.approx([1e6 * s.local_s for s in spans])
    assert here == pytest.approx([1e6 * (s.local_s - s.best_s) for s in spans])
    assert all(
        0 <= least <= most <= all_of_it for least, most, all_of_it in zip(here, free, one, strict=True)
    )
    most_s = model.costed[0].total_compute_s - model.costed[0].critical_path_s
    assert sum(free) == pytest.approx(1e6 * most_s), "the figure above the table is the sum of its column"
    steps = tab(at, "contraction-tabs", "All steps").dataframe[0].value
    assert list(steps["why it is allowed"]) == [s.reason for s in model.contracted.steps]


def test_a_chain_has_nothing_left_and_the_page_says_so(open_page: Open) -> None:
    at = show(open_page("3_contraction"), "vgg16")
    assert "38 operators become 1 task" in words(at)
    tab(at, "contraction-tabs", "Left to distribute")
    assert "the tasks form a chain" in words(at)
    assert not at.dataframe


def test_contraction_rule_is_part_of_the_scenario(open_page: Open) -> None:
    at = show(open_page("3_contraction"), "gpt2")
    assert metrics(at)["Tasks"] == "97"
    next(s for s in at.selectbox if s.label == "Rule").select("direct").run()
    assert at.session_state["nona_state"].scenario.contraction == "direct"
    assert metrics(at)["Tasks"] == "145"


def test_what_stays_together_and_what_it_may_lose(open_page: Open) -> None:
    at = show(open_page("3_contraction"), "moe_block")
    model = prepared("moe_block")
    network = at.session_state["nona_state"].scenario.cluster.network
    link = Link(network.capacity, network.latency)
    exact = glued_model(model, link)
    tab(at, "contraction-tabs", "Stays together")
    assert glue_headline(exact) in words(at)
    at.select_slider(key="coarsening-share").set_value("5 %").run()
    glued = glued_model(model, link, share=0.05)
    tiles = metrics(at)
    assert tiles["Groups"] == str(glued.interior_units)
    assert int(tiles["Groups"]) < exact.interior_units
    assert tiles["Lost at most"] == format_time(glued.bound_s)
    frame = at.dataframe[0].value
    assert list(frame["groups"]) == [c.interior_units for c in glued.coarsenings if len(c.group) > 2]
    assert list(frame["lost at most µs"]) == pytest.approx(
        [1e6 * c.bound_s(1.0) for c in glued.coarsenings if len(c.group) > 2]
    )


def test_the_cost_aware_rule_plays_and_lists_its_steps_after_the_others(open_page: Open) -> None:
    at = show(open_page("3_contraction"), "resnet18")
    next(s for s in at.selectbox if s.label == "Rule").select("cost-aware").run()
    assert not at.exception
    model = prepared("resnet18")
    network = at.session_state["nona_state"].scenario.cluster.network
    glued = glued_model(model, Link(network.capacity, network.latency))
    assert glued.steps > 0
    assert metrics(at)["Tasks"] == str(len(model.contracted.tasks)), "the tasks stay what they are"
    data = view(at)
    assert [step[2] for step in data["steps"]] == [
        f"Allowed by the {s.rule} rule: {s.reason}" for s in glued.contracted.steps
    ]
    assert replayed(data) == {frozenset(o.id for o in model.graph.operators)}, "at 25 Gbit/s all stays home"
    steps = tab(at, "contraction-tabs", "All steps").dataframe[0].value
    assert list(steps["rule"])[-glued.steps :] == ["cost-aware"] * glued.steps


def test_samples_are_picks_with_their_size_and_family(open_page: Open) -> None:
    at = upload(open_page("2_models"), "my diamond.json", DIAMOND)
    at.session_state["model-open"] = True
    at.run()
    listed = next(json.loads(c.proto.json) for c in at.get("bidi_component") if "entries" in c.proto.json)
    entries = {e["name"]: e for e in listed["entries"]}
    assert set(entries) == {"my diamond.json", *sample_names()}
    assert listed["entries"][0]["name"] == listed["chosen"] == "my diamond.json"
    assert entries["my diamond.json"]["figures"] == "4 operators, parallelism 1.57"
    assert entries["googlenet"]["figures"].startswith("139 operators, parallelism")
    assert entries["llama2_7b"]["family"] == "transformer"
    pick(at, "googlenet")
    assert metrics(at)["Operators"] == "139"
    assert at.session_state["model-open"] is False


def test_thousands_of_operators_without_modules_are_drawn(open_page: Open) -> None:
    n = 3_000
    document = {
        "nodes": [{"id": f"n{i}", "compute_ms": 1 + i % 5} for i in range(n)],
        "edges": [
            {"source": f"n{i}", "target": f"n{i + k}", "bytes": 10}
            for i in range(n)
            for k in (1, 3)
            if i + k < n
        ],
    }
    at = upload(open_page("2_models"), "long.json", document)
    data = view(at)
    assert len(data["nodes"]) <= MOST_PARTS
    assert sum(node[3] for node in data["nodes"]) == n
    graph = read_model(json.dumps(document).encode(), "long.json")
    assert metrics(at)["Edges"] == f"{len(set(graph.dag.edges())):,}"
