"""The Cluster page: the MIG picture says what the core says, edits are checked, devices come and go."""

import json

import pytest
from app_driver import edit, go, metrics, named, sent, state_of
from drawn import texts

from nona.app.pages.scenario.cluster_drawing import cluster_tree
from nona.app.pages.scenario.mig import board_view, edit_layout, parted_file, stranded_cells, take_parted
from nona.app.pages.scenario.workload_facts import row_cost
from nona.cluster.hardware.device import devices
from nona.cluster.hardware.executor import make_executor_class
from nona.cluster.hardware.mig import parse_layout
from nona.queries.report import clusters


def drawn(at):
    """The trees of all drawings on the page."""
    data = (json.loads(c.proto.json) for c in at.get("bidi_component"))
    return [tree for d in data for tree in d.get("tree", ()) if isinstance(tree, list)]


def with_mig(open_page):
    return named(open_page("scenario").selectbox, "Shared as").select("MIG slices").run()


def test_tiles_and_picture_are_those_of_the_cluster(open_page):
    at = open_page("scenario")
    cluster = state_of(at).scenario.cluster.build()
    total = clusters.capacity(cluster, cluster, state_of(at).scenario.cost)
    assert metrics(at)["Memory"] == "320 GB"
    assert total.memory_bytes == 8 * 40e9
    assert total.flop_per_s == 8 * devices()["a100-40gb"].peak("tf32")
    assert metrics(at)["Compute, tf32"] == "1.25 PFLOP/s"
    idle = clusters.background_load(cluster, 0.0, 0.0)
    tree = next(t for t in drawn(at) if t[1].get("class") == "clustermap")
    assert tree == cluster_tree(cluster, idle, measured=False)
    shown = " ".join(texts(tree))
    for words in ("8 servers", "25 Gbit/s", "each slice's share of its GPU, not its load"):
        assert words in shown
    assert "not its load" not in " ".join(texts(cluster_tree(cluster, idle, measured=True)))


def test_clicks_reach_the_scenario_illegal_ones_are_refused_and_an_empty_board_blocks_the_work(open_page):
    at = with_mig(open_page)
    state = state_of(at)
    edit_layout(state, 0, "a100-40gb", {"act": "remove", "start": 4})
    edit_layout(state, 0, "a100-40gb", {"act": "add", "start": 6, "profile": "1g.5gb"})
    at.run()
    assert state.scenario.cluster.servers[0].mig == "3g.20gb@0, 1g.5gb@6"
    board = sent(at, "instances")
    assert [(i[0], i[1], i[3]) for i in board["instances"]] == [(0, 4, "3g.20gb"), (6, 1, "1g.5gb")]
    assert [e[0] for e in board["empty"]] == [4, 5, 7]
    offered = {e[0]: {o[0] for o in e[2] if not o[2]} for e in board["empty"]}
    assert offered == {4: {"2g.10gb", "1g.10gb", "1g.5gb", "1g.5gb+me"}, 5: {"1g.5gb", "1g.5gb+me"}, 7: set()}
    assert metrics(at)["Executors"] == "16"
    for wish in (
        {"act": "add", "start": 4, "profile": "4g.20gb"},
        {"act": "add", "start": "4", "profile": "1g.5gb"},
        {"act": "add", "start": 0, "profile": "1g.5gb"},
        {"act": "remove", "start": 2},
        {"act": "format disk", "start": 0},
        None,
    ):
        edit_layout(state, 0, "a100-40gb", wish)
        assert state.scenario.cluster.servers[0].mig == "3g.20gb@0, 1g.5gb@6"
        at.run()
        assert len(at.error) == 1
    edit_layout(state, 0, "a100-40gb", {"act": "clear"})
    at.run()
    assert sent(at, "instances")["instances"] == []
    assert len(sent(at, "instances")["empty"]) == 8
    assert any("no slice yet" in e.value for e in at.error)
    assert "no slice yet" in state.problem()
    edit_layout(state, 0, "a100-40gb", {"act": "add", "start": 0, "profile": "7g.40gb"})
    at.run()
    assert not at.error
    assert state.scenario.cluster.servers[0].mig == "7g.40gb"


def test_the_table_of_instances_is_the_cost_models(open_page):
    at = with_mig(open_page)
    named(at.selectbox, "MIG layout").select("4g.20gb + 3g.20gb").run()
    frame = next(d.value for d in at.dataframe if "slice" in d.value)
    device = devices()["a100-40gb"]
    assert list(frame["slice"]) == ["4g.20gb", "3g.20gb"]
    for row, profile in zip(frame.to_dict("records"), ("4g.20gb", "3g.20gb"), strict=True):
        made = make_executor_class(device, profile)
        assert row["compute"] == pytest.approx(made.compute_fraction)
        assert row["speed, large kernels"] == pytest.approx(clusters.work_bound_speed(made.compute_fraction))
        whole, part = (row_cost(state_of(at), 0, n).total_s for n in ("a100-40gb", made.name))
        assert row["speed, resnet18"] == pytest.approx(whole / part)
        assert whole < part
    assert any("modelled" in c.value for c in at.caption)


def test_stranded_slices_are_named():
    layout = parse_layout(", ".join(["1g.5gb"] * 7), "a100-40gb")
    assert stranded_cells(layout) == (7,)
    shown = board_view(layout, "x")
    assert (shown.free, shown.lost) == (0, 0)
    assert shown.sent["empty"][0][1] is True
    assert board_view(parse_layout("3g.20gb, 3g.20gb", "a100-40gb"), "x").lost == 1
    (row,) = clusters.laid_instances(devices()["a30"], parse_layout("2g.12gb", "a30"))
    assert (row.sms, row.sms_of) == (28, 56)


def test_a_mig_parted_file_goes_out_and_in(open_page):
    at = with_mig(open_page)
    state = state_of(at)
    assert state.edit(("cluster", "servers", 0, "mig"), "2g.10gb, 2g.10gb, 3g.20gb")
    text = parted_file(state, 0, "a100-40gb")
    assert state.edit(("cluster", "servers", 0, "mig"), "7g.40gb")
    take_parted(state, 0, "a100-40gb", text.encode())
    at.run()
    assert sorted(str(state.scenario.cluster.servers[0].mig).split(", ")) == ["2g.10gb", "2g.10gb", "3g.20gb"]
    before = state.scenario
    take_parted(state, 0, "a100-40gb", text.replace("2g.10gb", "9g.90gb").encode())
    at.run()
    assert state.scenario == before
    assert any("9g.90gb" in e.value.replace("\\", "") for e in at.error)


def test_one_gpu_is_divided_and_the_others_stay_as_they_are(open_page):
    at = with_mig(open_page)
    state = state_of(at)
    named(at.number_input, "GPUs each").set_value(3).run()
    named(at.selectbox, "Divide").select("GPU 1").run()
    named(at.selectbox, "MIG layout of GPU 1").select("whole").run()
    assert not at.exception
    assert state.scenario.cluster.servers[0].layouts == ("3g.20gb, 3g.20gb", None, "3g.20gb, 3g.20gb")
    assert named(at.selectbox, "Divide").value == "GPU 1"
    assert metrics(at)["Executors"] == str(5 * state.scenario.cluster.servers[0].count)
    edit_layout(state, 0, "a100-40gb", {"act": "add", "start": 0, "profile": "7g.40gb"}, 1)
    assert state.scenario.cluster.servers[0].layouts[1] == "7g.40gb"
    text = parted_file(state, 0, "a100-40gb")
    edit_layout(state, 0, "a100-40gb", {"act": "clear"}, 1)
    at.run()
    assert any("no slice yet" in e.value for e in at.error)
    take_parted(state, 0, "a100-40gb", text.encode())
    at.run()
    assert not at.error
    assert state.scenario.cluster.servers[0].layouts == ("3g.20gb, 3g.20gb", "7g.40gb", "3g.20gb, 3g.20gb")
    named(at.number_input, "GPUs each").set_value(4).run()  # the new one is whole
    assert state.scenario.cluster.servers[0].layouts[3] is None
    named(at.number_input, "GPUs each").set_value(1).run()
    assert state.scenario.cluster.servers[0].mig == "3g.20gb, 3g.20gb"
    named(at.selectbox, "GPU").select("t4").run()
    assert state.scenario.cluster.servers[0].mig is None


def test_mps_on_slices_is_warned_of_where_the_cluster_is_made(open_page):
    at = with_mig(open_page)
    assert not any("MPS" in w.value for w in at.warning)
    assert state_of(at).edit(("cluster", "servers", 0, "mps"), 2)
    at.run()
    (told,) = (w.value for w in at.warning if "MPS" in w.value)
    assert "device plugin for Kubernetes refuses MPS on devices with MIG" in told
    assert "a100-40gb/3g.20gb/mps-1of2" in told.replace("\\", "")


def test_weights_that_do_not_fit_are_told_with_model_device_and_remedy(open_page):
    small = make_executor_class(devices()["a100-40gb"], "1g.5gb")
    assert clusters.weights_problems({"a": small.memory_bytes}, [small]) == []
    (one,) = clusters.weights_problems({"a": small.memory_bytes + 1}, [small])
    assert all(w in one for w in ("a:", small.name, "larger slice"))
    (both,) = clusters.weights_problems({"a": 3e9, "b": 3e9}, [small])
    assert "All models together" in both
    at = open_page("scenario")
    state = state_of(at)
    state.edit(("cluster", "devices"), {"tiny": {"base": "t4", "memory": "10 MB"}})
    edit(at, ("cluster", "servers", 0, "gpu"), "tiny")
    assert any("resnet18" in w.value and "tiny" in w.value for w in at.warning)


def add_device(at, **fields):
    for name, value in fields.items():
        at.text_input(key=f"device-{name}").set_value(value)
    named(at.button, "Add this device").click().run()


def test_own_devices_are_added_with_complaints_beside_their_fields_and_removed_unless_in_use(open_page):
    at = open_page("scenario")
    add_device(at, name="a/b")
    assert "a name is printable" in at.error[0].value
    add_device(at, name="mine", fp16="-3 TFLOP/s")
    (error,) = at.error
    assert "fp16" in error.value
    add_device(at, fp16="", memory="many bytes")
    assert "memory" in at.error[0].value
    add_device(at, memory="24 GB")
    assert not at.error
    assert state_of(at).scenario.cluster.devices["mine"]["memory"] == "24 GB"
    named(at.selectbox, "GPU").select("mine").run()
    state = state_of(at)
    assert state.scenario.cluster.servers[0].gpu == "mine"
    edit(at, ("cluster", "devices"), {"mine": {"base": "t4"}, "other": {"base": "a30"}})
    buttons = {b.key.rsplit("-", 1)[-1]: b for b in at.button if (b.key or "").startswith("remove-device")}
    assert set(buttons) == {"mine", "other"}
    assert buttons["mine"].disabled
    buttons["other"].click().run()
    assert set(state.scenario.cluster.devices) == {"mine"}


def test_cluster_edits_reach_the_scenario_and_a_wrong_quantity_keeps_what_was_typed(open_page):
    at = open_page("scenario")
    for value, why in ((1e9, "at most 100,000"), (0, "at least 1"), (2.5, "a whole number"), (5, "")):
        named(at.number_input, "Servers").set_value(value).run()
        assert named(at.number_input, "Servers").value == value, "nothing is clipped"
        told = [e.value.replace("\\", "") for e in at.error]
        assert len(told) == bool(why)
        assert all(f"{value:,.12g} must be {why}" in line for line in told), told
    named(at.selectbox, "Shared as").select("MIG slices").run()
    assert metrics(at)["Servers"] == "5"
    group = state_of(at).scenario.cluster.servers[0]
    layout = named(at.selectbox, "MIG layout")
    assert (group.mig, layout.value) == ("3g.20gb, 3g.20gb", "2 × 3g.20gb")
    layout.select("3g.20gb + 2g.10gb + 2 × 1g.5gb").run()
    assert metrics(at)["Executors"] == "20"
    assert state_of(at).scenario.cluster.servers[0].mig == "3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb"
    named(at.selectbox, "GPU").select("t4").run()  # has no MIG: the layout goes
    assert state_of(at).scenario.cluster.servers[0].mig is None
    assert metrics(at)["Executors"] == "5"
    before = state_of(at).scenario
    named(at.text_input, "Capacity").set_value("5 apples").run()
    told = at.error[0].value.replace("\\", "")
    assert "'5 apples' is not a bandwidth" in told
    assert told.endswith(". Until then 25 Gbit/s stays in use.")
    assert state_of(at).scenario == before
    go(at, "placement")
    assert at.button(key="run-place").disabled
    assert "5 apples" in at.warning[0].value.replace("\\", "")
    go(at, "scenario")
    field = named(at.text_input, "Capacity")
    assert field.value == "5 apples"
    field.set_value("40 Gbit/s").run()
    assert not at.error
    assert state_of(at).scenario.cluster.network.capacity == 5e9
