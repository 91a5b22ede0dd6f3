"""Files beside a scenario: named, missing, renamed, inside it, and packed in bundles."""

import io
import json
import os
import stat
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.cli.main import main
from nona.core.errors import GraphError, ScenarioError
from nona.models.graph.node_link import from_node_link
from nona.queries.workflows.preparation import prepare
from nona.scenario import lookup
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping
from nona.scenario.lookup import SMALL, Sources, file_names, is_file, named_files, with_files_renamed
from nona.scenario.opening import MOST_MEMBERS, SCENARIO, open_scenario, pack_bundle, read_bundle

INSIDE = {"nodes": [{"id": "a", "compute_ms": 1.0}], "links": [], "directed": True, "multigraph": False}


def scenario():
    trace = {"process": "trace", "trace": "t.csv"}
    rows = {"own.onnx": {"arrivals": trace}, "inside": {}, "resnet18": {"arrivals": trace}, "two.dot": {}}
    made = {"version": 1, "cluster": {"servers": [{"count": 2}]}, "models": {"inside": INSIDE}}
    made["workload"] = [{"model": model, "rate": "1/s"} | more for model, more in rows.items()]
    files = {"cost": {"measured": "m.measured.csv"}, "plan": {"profile": "week.csv"}}
    return scenario_from_mapping(made | files)


def test_files_are_listed_with_their_places_renamed_in_every_place_and_named_if_missing(tmp_path):
    assert [(f.place, f.name, f.kind) for f in named_files(scenario())] == [
        ("workload[0].model", "own.onnx", "model"),
        ("workload[0].arrivals.trace", "t.csv", "trace"),
        ("workload[2].arrivals.trace", "t.csv", "trace"),
        ("workload[3].model", "two.dot", "model"),
        ("cost.measured", "m.measured.csv", "measured"),
        ("plan.profile", "week.csv", "profile"),
    ]
    assert file_names(scenario()) == ["own.onnx", "two.dot", "t.csv", "m.measured.csv", "week.csv"]
    assert file_names(scenario(), "trace", "measured") == ["t.csv", "m.measured.csv"]
    renamed = with_files_renamed(scenario(), lambda name: f"new-{name}")
    assert file_names(renamed) == [f"new-{name}" for name in file_names(scenario())]
    assert [r.model for r in renamed.workload] == ["new-own.onnx", "inside", "resnet18", "new-two.dot"]
    (tmp_path / "t.csv").write_text("0\n")
    with pytest.raises(ScenarioError) as error:
        Sources(tmp_path).check(scenario())
    places = [problem.partition(":")[0] for problem in error.value.problems]
    assert places == ["workload[0].model", "workload[3].model", "cost.measured", "plan.profile"]
    assert [is_file(scenario(), m) for m in ("own.onnx", "inside", "resnet18")] == [True, False, False]


def chain(length):
    nodes = [{"id": f"n{i}", "compute_ms": 1 + i % 7} for i in range(length)]
    edges = [{"source": f"n{i}", "target": f"n{i + 1}", "bytes": i} for i in range(length - 1)]
    return {"nodes": nodes, "edges": edges}


def test_small_models_inside_are_read_here_and_large_ones_in_a_child(monkeypatch):
    here = []
    monkeypatch.setattr(lookup, "from_node_link", lambda *a: here.append(os.getpid()) or from_node_link(*a))
    for name in ("m.json", "my model"):
        for document in (chain(SMALL // 2), chain(SMALL // 2 + 2)):
            assert Sources().model(name, inline={name: document}) == from_node_link(document, name)
        assert here == [os.getpid()]  # the large one was read elsewhere
        here.clear()
    document = chain(SMALL)
    document["edges"].append({"source": "n1", "target": "n0"})
    with pytest.raises(GraphError, match="cycle") as raised:
        Sources().model("m.json", inline={"m.json": document})
    assert "\n" not in str(raised.value)
    assert not here


NET = json.dumps({"nodes": [{"id": "a", "compute_ms": 1.0}], "edges": []})
TEXT = """
version: 1
cluster: {servers: [{count: 2}]}
workload:
  - {model: one/net.json, rate: 5, arrivals: {process: trace, trace: t.csv}}
  - {model: two/net.json, rate: 5}
cost: {measured: times.measured.csv}
"""


@pytest.fixture
def plan(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.json").write_text(NET.replace('"a"', f'"{folder}"'))
    (tmp_path / "t.csv").write_text("time\n0\n1\n3\n")
    (tmp_path / "times.measured.csv").write_text("model,operator,device,ms\nnet,one,a100-40gb,0.5\n")
    (tmp_path / "plan.yaml").write_text(TEXT)
    return tmp_path / "plan.yaml"


def zipped(*members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


def good(*members, **more):
    return zipped((SCENARIO, GOOD), *members, **more)


GOOD = b"{version: 1, cluster: {servers: [{count: 1}]}, workload: [{model: gpt2, rate: 1}]}"


def test_a_bundle_opens_with_all_its_files_anywhere(plan, tmp_path_factory):
    first, beside = open_scenario(plan)
    place = tmp_path_factory.mktemp("elsewhere") / "plan.nona.zip"
    place.write_bytes(pack_bundle(first, beside))
    assert place.read_bytes() == pack_bundle(*open_scenario(plan))
    scenario, inside = open_scenario(place)
    plain = parse_scenario(TEXT.replace("one/net.json", "gpt2").replace("two/net.json", "gpt2"))
    kept = read_bundle(pack_bundle(plain, beside))[SCENARIO].decode()
    assert kept == dump_scenario(plain), "files that need no other name keep theirs, and the fingerprint"
    assert [inside.model(r.model).operators[0].id for r in scenario.workload] == ["one", "two"]
    assert scenario.labels == first.labels, "a label names random streams: a bundle must not change it"
    one, two = prepare(first, beside), prepare(scenario, inside)
    assert one.system.queries[0].arrivals == two.system.queries[0].arrivals
    for a, b in zip(one.models, two.models, strict=True):
        assert a.tasks.compute_s.tolist() == b.tasks.compute_s.tolist()


def test_commands_write_and_take_bundles(plan, capsys):
    out = plan.parent / "x.nona.zip"
    assert main(["bundle", str(plan), "-o", str(out)]) == 0
    assert "2-net.json" in capsys.readouterr().err
    for folder in ("one", "two"):
        (plan.parent / folder / "net.json").unlink()
    assert main(["place", str(out), "--objective", "formula", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["models"]) == {"net", "net #2"}
    assert main(["bundle", str(plan), "-o", str(out), "--force"]) == 2
    told = capsys.readouterr().err
    assert "one/net.json" in told
    assert "two/net.json" in told, "all that is missing at once"
    assert "bundle" in told
    assert "No such file" not in told


def encrypted():
    data = bytearray(good())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


LINK = zipfile.ZipInfo("link")
LINK.create_system, LINK.external_attr = 3, stat.S_IFLNK << 16
NO_FILES = ["../net.json", "/etc/passwd", "a/net.json", ".hidden", LINK]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"PK\x03\x04", "cut short"),
        (good()[:-9], "cut short"),
        (good() + b"x", "cut short"),
        (zipped(("other.yaml", GOOD)), "holds no scenario.yaml"),
        *((good((name, b"/etc/passwd")), "plain file") for name in NO_FILES),
        (good(("net.json", b"{}"), ("NET.json", b"{}")), "same name"),
        (good(("zeros.csv", b"0" * 2_000_000)), "times its size"),
        (good(*((f"{i}.csv", b"") for i in range(MOST_MEMBERS))), "files are more than"),
        (good(method=zipfile.ZIP_LZMA), "another way than deflate"),
        (encrypted(), "encrypted"),
        (zipped((SCENARIO, b"%PDF-1.4")), "PDF"),
        (zipped((SCENARIO, GOOD.replace(b"gpt2", b"net.onnx"))), "the bundle does not contain it"),
    ],
)
def test_hostile_and_broken_bundles_are_refused_in_one_line(data, why, tmp_path):
    (tmp_path / "x.nona.zip").write_bytes(data)
    with pytest.raises(ScenarioError, match=why) as caught:
        open_scenario(tmp_path / "x.nona.zip")
    assert "\n" not in str(caught.value)


def test_what_packs_well_is_stored_so_that_it_can_be_read_again(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"0\n" * 1_000_000)
    row = "{model: gpt2, rate: 1, arrivals: {process: trace, trace: t.csv}}"
    scenario = parse_scenario(GOOD.decode().replace("{model: gpt2, rate: 1}", row))
    assert len(read_bundle(pack_bundle(scenario, Sources(tmp_path)))["t.csv"]) == 2_000_000


@examples(150)
@given(st.data())
def test_a_damaged_bundle_opens_or_is_one_error(data):
    whole = bytearray(good(("net.json", NET.encode() * 20)))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        told = SCENARIO if SCENARIO in read_bundle(bytes(whole)) else ""
    except ScenarioError as error:
        told = str(error)
    assert told
    assert "\n" not in told
