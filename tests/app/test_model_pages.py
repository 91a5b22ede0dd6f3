"""Models and Contraction: what is drawn, said and counted; layouts; measured and given times."""

import json
from itertools import combinations

import pytest
from app_driver import go, metrics, named, put, run, said, sent, state_of, table, upload_model
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from sizes import examples

from nona.app.models import dagview as layout
from nona.app.models.dagview import NODE_HEIGHT, NODE_WIDTH, lay_out
from nona.app.tasks import checks
from nona.app.tasks.checks import is_quick
from nona.cluster.hardware.executor import executor_class
from nona.models import prepared as models
from nona.models.cost.measured import LOW_LOAD, read_measured
from nona.models.graph import blocks, guard, readers
from nona.models.graph.dag import Dag
from nona.queries.placement import enumeration, messages
from nona.queries.placement.enumeration import configuration_counts
from nona.queries.workflows import preparation
from nona.scenario.file import parse_scenario
from nona.scenario.sample_files import load_sample, sample_names, sample_path


def edges(*pairs):
    return [{"source": s, "target": t, "bytes": 1000} for s, t in pairs]


DIAMOND = {
    "nodes": [{"id": n, "compute_ms": t} for n, t in (("a", 2.0), ("b", 10.0), ("c", 8.0), ("d", 2.0))],
    "edges": edges("ab", "ac", "bd", "cd"),
}


def prepared(name):
    return models.prepare_model(load_sample(name), (executor_class("a100-40gb"),))


def link_of(at):
    network = state_of(at).scenario.cluster.network
    return messages.PlacementLink(network.capacity, network.latency)


def stepping(open_page):
    """The page Models with the contraction step by step."""
    return put(open_page("models"), "model-view", "Step by step")


def show(at, model):
    state_of(at).model = model
    return at.run()


def pick(at, model):
    """Pick a model in the list, as a click there does."""
    box = picker(at)
    return box.select(next(text for text in box.options if text.startswith(f"{model} ·"))).run()


def picker(at):
    return next(box for box in at.selectbox if str(box.key).startswith("model-choice"))


def said_on(at):
    return said([*at.markdown, *at.caption, *at.info])


def upload(at, name, document):
    return upload_model(at, name, json.dumps(document).encode())


def test_models_shows_what_the_layers_compute(open_page):
    at, model = open_page("models"), prepared("resnet18")
    costed, contracted = model.costed[0], model.contracted
    wanted = {
        "Operators": str(len(model.graph.operators)),
        "Parallelism T₁/T∞": f"{costed.parallelism:.3f}",
        "Work in GMAC": f"{sum(c.macs for c in costed.costs) / 1e9:.3g}",
    }
    assert wanted.items() <= metrics(at).items()
    data = sent(at, "wide")
    assert [n[0] for n in data["nodes"]] == [o.id for o in model.graph.operators]
    assert {tuple(e[:2]) for e in data["edges"]} == set(model.graph.dag.edges())
    assert "modelled" in said_on(at)
    # Sub-graph colours: equal for operators whose tasks share an interior, and one for all cut tasks.
    at_mode = [m["name"] for m in data["modes"]].index("Sub-graph")
    inner = {contracted.tasks[t].id for s in model.decomposition.subgraphs for t in s.interior}
    for node in data["nodes"]:
        assert (node[4][at_mode] == 9) is (contracted.task_of[node[0]] not in inner)
    shown = operators(at)
    assert shown["time µs"].sum() == pytest.approx(1e6 * costed.total_compute_s)
    assert set(shown["provenance"]) <= {"measured", "calibrated", "modelled", "given"}


def test_time_colours_are_in_the_order_of_times_and_edges_say_their_bytes(open_page):
    at = show(open_page("models"), "googlenet")
    model = prepared("googlenet")
    data = sent(at, "wide")
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


def test_an_uploaded_graph_becomes_the_model_and_stands_in_the_list_of_samples(open_page):
    at = upload(open_page("models"), "my diamond.json", DIAMOND)
    assert {"Operators": "4", "Parallelism T₁/T∞": f"{22 / 14:.3f}"}.items() <= metrics(at).items()
    assert "at most 36.4 %" in said_on(at)
    put(go(at, "models"), "model-view", "Step by step")
    assert metrics(at)["Tasks"] == "4"
    assert "4 operators become 4 tasks; 1 place is left" in said_on(at)
    assert "save at most 36.4 % of the computing time" in said_on(at)
    go(at, "home", "models")
    assert metrics(at)["Operators"] == "4"  # it is still there after a walk over other pages
    listed = picker(at).options
    assert (listed[0], len(listed)) == ("my diamond.json · your upload", 1 + len(sample_names()))
    assert {"googlenet · convolutional, 139 operators", "llama2_7b · transformer, 2,059 operators"} <= {
        *listed
    }
    pick(at, "googlenet")
    assert metrics(at)["Operators"] == "139"


def test_a_file_in_single_precision_is_asked_about_once_and_one_with_stated_times_never(open_page):
    at = upload_model(open_page("models"), "own.onnx", sample_path("mobilenet_v2").read_bytes())
    assert "own.onnx is fp32.** You will run it as tensorrt, fp32 in TF32" in said(at.markdown)
    named(at.button_group, "Precision").set_value("fp16").run()
    assert state_of(at).scenario.cost.precision == "fp16"
    assert "You will run it as tensorrt, fp16" in said(at.markdown)
    at.button(key="precision-is-right").click().run()
    assert "You will run it as" not in said(at.markdown)
    upload(at, "flow.json", DIAMOND)
    assert "You will run it as" not in said(at.markdown)


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("x.onnx", b"not a model", "x.onnx"),
        ("cycle.json", json.dumps({"nodes": DIAMOND["nodes"], "edges": edges("ab", "ba")}).encode(), "cycle"),
        ("evil.exe", b"MZ", "evil.exe"),
    ],
)
def test_a_bad_file_is_one_line_beside_the_upload_and_the_model_stays(open_page, name, data, why):
    at = show(open_page("models"), "slides_example")
    upload_model(at, name, data)
    (error,) = at.error
    assert why in said([error])
    assert at.session_state["model-open"] is True  # the list stands open, the error in it
    assert metrics(at)["Operators"] == "4"
    assert state_of(at).uploads.names() == ()
    pick(at, "googlenet")
    assert not at.error
    assert metrics(at)["Operators"] == "139"


def test_a_clicked_operator_is_described_leads_to_its_neighbours_and_markup_in_names_stays_text(open_page):
    at = show(open_page("models"), "slides_example")
    put(at, "model-graph", {"selected": "2"})
    assert metrics(at)["Time"] == "10 ms"
    assert "task **2** (one operator)" in said_on(at)
    at.button(key="model-graph-Out-0-4").click().run()
    assert sent(at, "wide")["pick"] == ["4", 1]
    assert "**4** ·" in said_on(at)
    inputs = [b.label for b in at.button if b.key and b.key.startswith("model-graph-Inp")]
    assert inputs == ["2", "3"]
    own = "<b>x</b> $y$ [z](http://e.x)"
    upload(at, "n.json", {"nodes": [{"id": own, "compute_ms": 1}], "edges": []})
    put(at, "model-graph", {"selected": own})
    shown = [m.value for m in at.markdown if "y" in m.value and "z" in m.value]
    assert shown
    assert all("<b>" not in s and "[z](" not in s and "$y$" not in s for s in shown)
    assert not any(m.allow_html for m in at.markdown)


def test_a_large_model_is_drawn_by_its_modules_which_open_and_shut(open_page):
    at = show(open_page("models"), "llama2_7b")
    graph = load_sample("llama2_7b")
    found = blocks.modules(graph.dag, blocks.scope_paths(graph), blocks.MOST_PARTS)

    def wanted(cut):
        return [len(b.members) for b in blocks.block_graph(graph.dag, found.paths, cut.is_open).blocks]

    data = sent(at, "wide")
    assert [n[3] for n in data["nodes"]] == wanted(found.usual)
    assert sum(n[3] for n in data["nodes"]) == len(graph.operators) == 2059
    assert data["all"] is False  # too many to be drawn one by one
    attention = ("model", "layers", "5", "self_attn")
    put(at, "model-graph", {"selected": None, "ask": ["open", "block:" + "/".join(attention), 1]})
    opened = sent(at, "wide")
    assert [n[3] for n in opened["nodes"]] == wanted(found.usual.open(attention))
    assert opened["sig"] != data["sig"]
    inside = next(n[0] for n in opened["nodes"] if n[0].startswith("model.layers.5.self_attn/"))
    put(at, "model-graph", {"selected": inside, "ask": ["shut", inside, 2]})
    assert sent(at, "wide")["sig"] == data["sig"]
    put(at, "model-graph", {"selected": None, "ask": ["none", "", 3]})
    assert [n[3] for n in sent(at, "wide")["nodes"]] == wanted(found.shortest)
    go(at, "home", "models")
    assert [n[3] for n in sent(at, "wide")["nodes"]] == wanted(found.shortest)  # remembered for this model
    put(at, "model-graph", {"selected": None, "ask": ["all", "", 4]})
    assert "2,059 boxes" in sent(at, "wide")["notice"]


def test_contraction_plays_the_recorded_steps(open_page):
    at, model = stepping(open_page), prepared("resnet18")
    contracted = model.contracted
    tiles = metrics(at)
    assert tiles["Tasks"] == str(len(contracted.tasks))
    assert tiles["Steps"] == str(len(contracted.steps))
    data = sent(at, "wide")
    wanted = {frozenset(t.operators) for t in contracted.tasks}
    assert replayed(data) == wanted  # what the browser gets ends in exactly the tasks
    assert [step[2] for step in data["steps"]] == reasons(contracted)


def reasons(contracted):
    return [f"Allowed by the {s.rule} rule: {s.reason}" for s in contracted.steps]


def replayed(data):
    owner = list(range(len(data["nodes"])))

    def find(i):
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


def test_a_large_contraction_is_played_one_part_at_a_time(open_page):
    at = show(stepping(open_page), "llama2_7b")
    contracted = prepared("llama2_7b").contracted
    part = named(at.selectbox, "Part to play")
    part.select("model.layers.7").run()
    data = sent(at, "wide")
    ids = {n[0] for n in data["nodes"]}
    own = ("model.layers.7.", "model.layers.7/")
    assert ids == {o.id for o in contracted.graph.operators if o.id.startswith(own)}
    groups = replayed(data)
    assert all(len({contracted.task_of[o] for o in group}) == 1 for group in groups)
    inner = {frozenset(t.operators) for t in contracted.tasks if ids.issuperset(t.operators)}
    assert inner <= groups  # a task that lies inside the part is played to its end


def test_the_tasks_and_what_is_left_of_them(open_page):
    at = show(stepping(open_page), "moe_block")
    model = prepared("moe_block")
    spans = enumeration.idle_spans(model.tasks, model.decomposition, link_of(at), 8)
    saved = sum(s.local_s - s.best_s for s in spans) / model.costed[0].total_compute_s
    assert f"{100 * saved:.1f} % of that" in said_on(at)
    put(at, "model-view", "Tasks")
    tasks = sent(at, "wide")
    assert sum(n[3] > 1 or n[0] in model.contracted.index for n in tasks["nodes"]) == len(tasks["nodes"])
    put(at, "tasks", {"selected": model.contracted.tasks[0].id})
    assert f"Task **{model.contracted.tasks[0].id}**" in said_on(at)
    frame = put(at, "model-view", "What it could gain").dataframe[0].value
    assert list(frame["interior tasks"]) == [len(s.subgraph.interior) for s in spans]
    names = ("on one server", "saved at most", "saved over the link")
    one, free, here = (list(frame[name]) for name in names)
    assert one == pytest.approx([s.local_s for s in spans])
    assert here == pytest.approx([s.local_s - s.best_s for s in spans])
    assert all(0 <= least <= most <= whole for least, most, whole in zip(here, free, one, strict=True))
    most_s = model.costed[0].total_compute_s - model.costed[0].critical_path_s
    assert sum(free) == pytest.approx(most_s), "the figure above the table is the sum of its column"
    steps = table(put(at, "model-view", "Tables"), "why it is allowed")
    assert list(steps["why it is allowed"]) == [s.reason for s in model.contracted.steps]


def test_a_chain_has_nothing_left_and_the_rule_is_part_of_the_scenario(open_page):
    at = show(stepping(open_page), "vgg16")
    assert "38 operators become 1 task" in said(at.markdown)
    put(at, "model-view", "What it could gain")
    assert "the tasks form a chain" in said_on(at)
    assert not at.dataframe
    show(at, "gpt2")
    assert metrics(at)["Tasks"] == "97"
    named(at.selectbox, "Rule").select("direct").run()
    assert state_of(at).scenario.contraction == "direct"
    assert metrics(at)["Tasks"] == "145"


WIDE = 20
LEFT = "What it could gain"
FAN = [pair for i in range(1, WIDE + 1) for pair in (("t0", f"t{i}"), (f"t{i}", f"t{WIDE + 1}"))]
WIDE_FAN = {
    "nodes": [{"id": f"t{i}", "compute_ms": 1 + i % 7} for i in range(WIDE + 2)],
    "edges": edges(*FAN),
}


def test_a_usual_model_is_counted_at_once(open_page):
    at = put(show(stepping(open_page), "googlenet"), "model-view", LEFT)
    model = prepared("googlenet")
    interior = [len(s.interior) for s in model.decomposition.subgraphs]
    wanted = [
        f"{c:,}"
        for c, m in zip(configuration_counts(model.tasks, model.decomposition), interior, strict=True)
        if m
    ]
    assert is_quick(model)
    assert list(table(at, "interior tasks")["configurations"]) == wanted
    assert "Count the configurations" not in {b.label for b in at.button}


def test_a_large_sub_graph_is_counted_by_a_worker_on_demand(open_page, monkeypatch):
    monkeypatch.setattr(checks, "QUICK", WIDE)
    at = open_page("models")
    data = json.dumps(WIDE_FAN).encode()
    upload_model(at, "fan.json", data)
    put(put(go(at, "models"), "model-view", "Step by step"), "model-view", LEFT)
    prepared = models.prepare_model(readers.read_model(data, "fan.json"), (executor_class("a100-40gb"),))
    assert list(table(at, "interior tasks")["interior tasks"]) == [str(WIDE)]
    assert "configurations" not in table(at, "interior tasks")
    run(at, "count")
    wanted = [f"{c:,}" for c in configuration_counts(prepared.tasks, prepared.decomposition) if c > 1]
    assert list(table(at, "interior tasks")["configurations"]) == wanted
    assert "Count the configurations" not in {b.label for b in at.button}
    # The count belongs to this device: on another one it is asked for again, not passed off.
    at.selectbox(key="device").select("t4").run()
    assert "configurations" not in table(at, "interior tasks")
    assert "Count the configurations" in {b.label for b in at.button}
    at.selectbox(key="device").select("a100-40gb").run()
    assert list(table(at, "interior tasks")["configurations"]) == wanted


TIMES = b"model,operator,device,ms\nresnet18,*,a100-40gb,7.5\n"


def operators(at):
    """The table of operators, on the tab that shows it."""
    return put(at, "model-view", "Tables").dataframe[0].value


def test_measured_times_replace_modelled_ones_are_marked_as_such_and_can_be_removed(open_page):
    at = open_page("models")
    assert LOW_LOAD[1:] in said(at.caption)
    at.file_uploader(key="measured-file").upload("times.csv", TIMES).run()
    assert state_of(at).scenario.cost.measured == "times.measured.csv"
    assert "1 time on a100-40gb; 1 of them for resnet18" in said(at.success)
    assert "100 % calibrated" in said(at.caption)
    table = operators(at)
    assert table["time µs"].sum() == pytest.approx(7500.0)
    assert set(table["provenance"]) == {"calibrated"}  # the whole is measured, its shares are not
    assert metrics(put(at, "model-view", "Operators"))["Parallelism T₁/T∞"] == _parallelism(TIMES)
    put(go(at, "models"), "model-view", "Step by step")
    study = preparation.prepare(state_of(at).scenario, state_of(at).uploads.sources)
    assert study.models[0].costed[0].total_compute_s == pytest.approx(7.5e-3)
    go(at, "models")
    at.button(key="no-measured").click().run()
    assert state_of(at).scenario.cost.measured is None
    assert set(operators(at)["provenance"]) == {"modelled"}
    assert metrics(put(at, "model-view", "Operators"))["Parallelism T₁/T∞"] == _parallelism(None)
    model = load_sample("resnet18")
    rows = "".join(f"resnet18,{o.id},a100-40gb,{1 + i}\n" for i, o in enumerate(model.operators[:3]))
    at.file_uploader(key="measured-file").upload(
        "times.csv", f"model,operator,device,ms\n{rows}".encode()
    ).run()
    table = operators(at)
    found = table[table["provenance"] == "measured"].set_index("operator")["time µs"]
    wanted = {o.id: 1000.0 * (1 + i) for i, o in enumerate(model.operators[:3])}
    assert found.to_dict() == pytest.approx(wanted)
    assert any("measured" in c.value and "modelled" in c.value for c in at.caption)
    show(at, "gpt2")
    assert "0 of them for gpt2" in said(at.success)


def _parallelism(data):
    measured = None if data is None else read_measured(data)
    model = models.prepare_model(load_sample("resnet18"), (executor_class("a100-40gb"),), measured=measured)
    return f"{model.costed[0].parallelism:.3f}"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"model,operator,ms\nresnet18,*,7.5\n", "the column 'device' is missing"),
        (TIMES.replace(b"7.5", b"fast"), "line 2: ms='fast'"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_bad_table_is_one_line_and_nothing_changes(open_page, data, words):
    at = open_page("models")
    at.file_uploader(key="measured-file").upload("good.csv", TIMES).run()
    at.file_uploader(key="measured-file").upload("bad.csv", data).run()
    (error,) = at.error
    assert words in said([error])
    assert state_of(at).scenario.cost.measured == "good.measured.csv"
    assert state_of(at).uploads.names() == ("good.measured.csv",)
    assert set(operators(at)["provenance"]) == {"calibrated"}  # the whole is measured, its shares are not
    # another table under the same name
    at.file_uploader(key="measured-file").upload("good.csv", TIMES.replace(b"7.5", b"2.5")).run()
    assert not at.error
    assert operators(at)["time µs"].sum() == pytest.approx(2500.0)


def test_the_table_travels_apart_and_the_app_says_so(open_page):
    at = open_page("models")
    assert not [c for c in at.sidebar.caption if "measured" in c.value]
    at.file_uploader(key="measured-file").upload("times.csv", TIMES).run()
    put(at, "file-menu", True)
    (told,) = [said([c]) for c in at.sidebar.caption if "measured" in c.value]
    assert "times.measured.csv" in told
    text = state_of(at).dump()
    assert parse_scenario(text).cost.measured == "times.measured.csv"
    assert "Download the CSV" in {b.label for b in at.get("download_button")}
    arrivals = named(go(at, "scenario").selectbox, "Arrivals")
    assert not [o for o in arrivals.options if "times" in o], "a table is no trace"
    other = put(open_page("models"), "file-menu", True)
    next(f for f in other.file_uploader if "Scenario" in f.label).upload("s.yaml", text.encode()).run()
    assert all("times.measured.csv" in e.value.replace("\\", "") for e in other.error)
    assert other.error
    other.file_uploader(key="measured-file").upload("times.measured.csv", TIMES).run()
    assert not other.error
    assert operators(other)["time µs"].sum() == pytest.approx(7500.0)


FLOW_NODES = [{"id": "a", "compute_ms": 10.0, "kind": "MatMul"}, {"id": "b", "compute_ms": 5.0}]
FLOW = {"nodes": FLOW_NODES, "edges": []}


def test_the_device_of_given_times_is_told_and_can_be_changed(open_page):
    at = open_page("models")
    show(at, "ensemble")
    named(at.selectbox, "Times on device").select("t4").run()
    assert "given on a100-40gb, modelled on t4" in said(at.caption)
    named(at.text_input, "Time on t4").set_value("4").run()
    assert state_of(at).scenario.cost.given["ensemble"].factors == {"t4": 4.0}
    assert "100 % given" in said(at.caption)  # the factor is the user's own
    named(at.text_input, "Time on t4").set_value("many").run()
    assert "cost.given.ensemble.factors.t4" in said(at.error)
    named(at.text_input, "Time on t4").set_value("").run()
    assert not at.error
    assert state_of(at).scenario.cost.given == {}
    show(at, "slides_example")
    assert "given for any device, by definition" in said(at.caption)
    show(at, "resnet18")
    assert not any(e.label.startswith("Given times") for e in at.expander)


def test_times_without_a_device_are_warned_about_until_it_is_named(open_page):
    at = open_page("models")
    state = state_of(at)
    state.edit(("models",), {"flow": FLOW})
    state.edit(("workload",), [{"model": "flow", "rate": "10/s"}, {"model": "ensemble", "rate": "1/s"}])
    state.edit(("cluster", "servers", 0, "mig"), "3g.20gb, 3g.20gb")
    go(at, "scenario")
    warned = said(at.warning)
    assert "flow: 100 % of its time is the same on every GPU and slice" in warned
    assert "ensemble" not in warned
    assert "ensemble: its times are given on a100-40gb, modelled on a100-40gb/3g.20gb" in said(at.caption)
    go(at, "models")
    show(at, "flow")
    named(at.selectbox, "The times hold on").select("a100-40gb").run()
    assert state.scenario.cost.given["flow"].device == "a100-40gb"
    go(at, "scenario")
    assert "flow: 100 %" not in said(at.warning)
    assert "flow: its times are given on a100-40gb, modelled on" in said(at.caption)


def check(dag, found):
    assert len(found.x) == len(found.y) == len(found.column) == len(dag)
    for (x, y), (x2, y2) in combinations(zip(found.x, found.y, strict=True), 2):
        assert abs(x2 - x) >= NODE_WIDTH - 0.5 or abs(y2 - y) >= NODE_HEIGHT - 0.5
    for u, v in dag.edges():  # on to the right, or downwards within a column
        assert (found.column[u], found.y[u]) < (found.column[v], found.y[v])


@st.composite
def dags(draw):
    n = draw(st.integers(1, 24))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    return Dag.from_edges(n, draw(st.lists(st.sampled_from(pairs), max_size=40)) if pairs else [])


@examples(80)
@given(dags(), st.floats(0.3, 4))
def test_layers_never_overlap_and_point_downwards(dag, aspect):
    found = lay_out(dag, aspect, limit_s=0)
    assert found.engine == "layers"
    check(dag, found)


@pytest.mark.parametrize("name", ["resnet18", "googlenet", "slides_example", "densenet121"])
def test_graphviz_draws_the_samples(name):
    dag = load_sample(name).dag
    found = lay_out(dag, limit_s=60)
    assert found.engine == "dot"
    check(dag, found)
    width, height = max(found.x) - min(found.x), max(found.y) - min(found.y)
    if len(dag) > 40:
        assert 0.5 < width / height < 8  # a panel, not a strip


def test_a_layout_that_takes_too_long_or_fails_falls_back(monkeypatch):
    dag = load_sample("resnet18").dag
    assert lay_out(dag, limit_s=1e-3).engine == "layers"
    monkeypatch.setattr(guard.sys, "executable", "/nonexistent/python")
    found = lay_out(dag)
    assert found.engine == "layers"
    check(dag, found)


def test_large_and_dense_graphs_do_not_go_to_graphviz(monkeypatch):
    monkeypatch.setattr(layout, "_dot", lambda *_: pytest.fail("Graphviz was asked"))
    chain = Dag.from_edges(3000, ((i, i + 1) for i in range(2999)))
    check(Dag.from_edges(1, []), lay_out(Dag.from_edges(1, []), limit_s=0))
    assert lay_out(chain).engine == "layers"
    dense = Dag.from_edges(
        60, ((u, 20 * k + v) for k in (1, 2) for u in range(20 * k - 20, 20 * k) for v in range(20))
    )
    assert lay_out(dense).engine == "layers"


def picture_net():
    """A convolution over images whose sides are symbolic, as exporters write them."""
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, "height", "width"])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    weights = helper.make_tensor("w", TensorProto.FLOAT, [8, 3, 3, 3], [0.0] * 216)
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    graph = helper.make_graph([node], "net", [image], [out], [weights])
    return helper.make_model(graph).SerializeToString()


def test_symbolic_sizes_of_images_open_with_224_others_empty_and_one_of_1_is_warned_of(open_page):
    at = upload_model(open_page("models"), "net.onnx", picture_net())
    assert "--" not in said(at.info), "no flags of a command line"
    fields = {f.label: f for f in at.number_input if str(f.key).startswith("symbol:")}
    assert {name: field.value for name, field in fields.items()} == {
        "batch": None,
        "height": 224.0,
        "width": 224.0,
    }
    fields["batch"].set_value(1)
    fields["height"].set_value(1)
    named(at.button, "Use these sizes").click().run()
    assert state_of(at).symbols["net.onnx"] == {"batch": 1, "height": 1, "width": 224}
    assert "Size height is 1" in said(at.warning)
    named(at.number_input, "height").set_value(224.0).run()
    assert state_of(at).symbols["net.onnx"]["height"] == 224
    assert "Size" not in said(at.warning)


def times_on(at):
    return next(p.proto.popover.label for p in at.get("popover") if "Times on" in p.proto.popover.label)


def test_times_follow_the_gpus_of_the_cluster_and_a_stranger_is_said_to_be_one(open_page):
    at = open_page("models")
    state_of(at).edit(("cluster", "servers", 0, "gpu"), "l4")
    at.run()
    assert "**l4**" in times_on(at)
    named(at.selectbox, "Times on device").set_value("t4").run()
    assert "**t4**, not in the cluster" in times_on(at)
    named(at.selectbox, "Times on device").set_value("l4").run()
    state_of(at).edit(("cluster", "servers", 0, "gpu"), "h100")
    at.run()
    assert "**h100**" in times_on(at), "what was chosen has left the cluster"
