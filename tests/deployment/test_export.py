"""What is written is valid, says what it stands for, and reads back as the same cluster and engines."""

import json
import re

import kubernetes_validate
import pytest
import yaml
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.cli.main import main
from nona.cluster.hardware.mig import legal_layouts
from nona.core.errors import DeploymentError
from nona.deployment.exporting import files_of, unwritten_of
from nona.deployment.files import file_of, given_files
from nona.deployment.importing import import_files
from nona.deployment.prometheus import samples
from nona.deployment.write_kubernetes import engine_arguments
from nona.deployment.writing import Standing, names_of
from nona.scenario.file import dump_scenario, parse_scenario
from nona.scenario.language import EngineSpec
from nona.scenario.sample_files import scenario_names, shipped_scenario
from nona.scenario.schema import Scenario

STANDS = "keeps (seen)"


def written(scenario, form):
    return files_of(Standing(scenario, STANDS), form)


def exportable(form):
    names = []
    for name in scenario_names():
        try:
            written(shipped_scenario(name), form)
        except DeploymentError:
            continue
        names.append(name)
    return names


def model_config():
    """A message with the fields of Triton's ModelConfig that are written, by its published numbers."""
    file = descriptor_pb2.FileDescriptorProto(name="written.proto", package="written", syntax="proto3")
    kinds = {"int32": 5, "uint64": 4, "string": 9, "message": 11, "enum": 14}

    def message(name, *fields):
        proto = file.message_type.add(name=name)
        for number, key, kind, repeated, of in fields:
            field = proto.field.add(name=key, number=number, type=kinds[kind], label=3 if repeated else 1)
            if of:
                field.type_name = f".written.{of}"

    kind = file.enum_type.add(name="Kind")
    for number, name in enumerate(("KIND_AUTO", "KIND_GPU", "KIND_CPU", "KIND_MODEL")):
        kind.value.add(name=name, number=number)
    message("Group", (4, "kind", "enum", False, "Kind"), (2, "count", "int32", False, ""),
            (3, "gpus", "int32", True, ""))  # fmt: skip
    message("Batching", (1, "preferred_batch_size", "int32", True, ""),
            (2, "max_queue_delay_microseconds", "uint64", False, ""))  # fmt: skip
    message("Config", (1, "name", "string", False, ""), (4, "max_batch_size", "int32", False, ""),
            (11, "dynamic_batching", "message", False, "Batching"),
            (7, "instance_group", "message", True, "Group"))  # fmt: skip
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("written.Config"))


@pytest.mark.parametrize("name", exportable("triton"))
def test_fragments_are_protobuf_text_and_read_back(name):
    scenario = shipped_scenario(name)
    files = written(scenario, "triton")
    config = model_config()
    for text in files.values():
        parsed = text_format.Parse(text, config())
        assert parsed.instance_group
        assert STANDS in text
    found = import_files([file_of(file, text.encode()) for file, text in files.items()])
    read = {row["name"]: largest(row) for row in found.data["workload"]}
    assert read == {name: size for row in rows_of(scenario) for name, size in row}


def largest(row):
    """The largest batch of a row that is one task; ``None`` where queries run one by one."""
    (own,) = row.get("stages", {"": row}).values()
    settings = own.get("batching", "off")
    return None if settings == "off" else settings["max_batch"]


def rows_of(scenario):
    """For each row the models that are written of it, with their largest batches."""
    for row, name in zip(scenario.workload, names_of(scenario.labels), strict=True):
        stages = getattr(row, "stages", {})
        specs = {names_of([task.rpartition("/")[2]])[0]: stage.batching for task, stage in stages.items()}
        specs = specs or {name: None}
        whole = {key: spec or scenario.batching_of(row) for key, spec in specs.items()}
        yield [
            (key, spec.max_batch * row.batch if spec and spec.max_batch > 1 else None)
            for key, spec in whole.items()
        ]


@pytest.mark.parametrize("name", exportable("kubernetes"))
def test_deployments_read_back_as_the_same_cluster_and_engines(name):
    scenario = shipped_scenario(name)
    files = written(scenario, "kubernetes")
    for document in yaml.safe_load_all(files["deployments.yaml"]):
        check_deployment(document)
    found = import_files([file_of("deployments.yaml", files["deployments.yaml"].encode())])
    again = [g | {"gpu": g["gpu"]} for g in found.data["cluster"]["servers"]]
    cluster = Scenario.model_validate({"cluster": {"servers": again}}).cluster.servers

    def seen(group):
        engine = group.engine and group.engine.model_copy(update={
            "model": None, "watermark": 0.0, "scheduler": "vllm", "steps": None,
            "first_token": "decode", "role": "both",
        })  # fmt: skip
        return (group.count, group.gpu, group.gpus, group.vcpus, group.mig, group.mps, engine)

    assert sorted(map(repr, map(seen, cluster))) == sorted(map(repr, map(seen, scenario.cluster.servers)))


def check_deployment(document):
    """Kubernetes' own schema, and rules between fields that it does not have."""
    kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
    assert document["kind"] == "Deployment"
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", document["metadata"]["name"])
    spec = document["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    for container in spec["template"]["spec"]["containers"]:
        assert all(n > 0 for n in container["resources"]["limits"].values())
        mounts = {m["name"] for m in container["volumeMounts"]}
        assert mounts <= {v["name"] for v in spec["template"]["spec"]["volumes"]}


@pytest.mark.parametrize("change", [{"replicas": "2"}, {"replica": 2}, {"strategy": "fast"}])
def test_the_schema_of_kubernetes_refuses_a_wrong_deployment(change):
    text = written(shipped_scenario(exportable("kubernetes")[0]), "kubernetes")["deployments.yaml"]
    document = next(yaml.safe_load_all(text))
    document["spec"] |= change
    with pytest.raises(kubernetes_validate.ValidationError):
        check_deployment(document)


def test_engines_keep_their_settings():
    text = """{cluster: {servers: [{gpu: h100, gpus: 4, engine: {tp: 2, sequences: 64, budget: 4096,
      blocks: 9000,
      utilization: 0.8, prefix_cache: share, chunked: false, lookahead: true, kv: fp8, graphs: outside}}]},
      workload: [{rate: 2, llm: {model: llama-3.1-8b, tokens: {input: 100, output: 20}}}]}"""
    scenario = parse_scenario(text)
    found = import_files([file_of("d.yaml", written(scenario, "kubernetes")["deployments.yaml"].encode())])
    (group,) = found.data["cluster"]["servers"]
    again = Scenario.model_validate({"cluster": {"servers": [group]}}).cluster.servers[0]
    assert again == scenario.cluster.servers[0]
    assert "--tensor-parallel-size=2" in engine_arguments(again.engine)


def test_slices_have_a_way_back_and_mps_on_them_is_refused():
    group = "{count: 3, gpu: a100-40gb, gpus: 2, mig: '3g.20gb, 3g.20gb'%s}"
    text = "{cluster: {servers: [%s]}, workload: [{model: resnet50, rate: 5}]}"
    files = written(parse_scenario(text % (group % "")), "gpus")
    document = yaml.safe_load(files["mig-parted.yaml"])
    configs = document["mig-configs"]
    assert configs["all-disabled"] == [{"devices": "all", "mig-enabled": False}]
    assert configs["group-0-a100-40gb"] == [
        {"devices": [0, 1], "mig-enabled": True, "mig-devices": {"3g.20gb": 2}}
    ]
    with pytest.raises(DeploymentError, match=r"cluster\.servers\[0\]: MPS clients on MIG slices"):
        written(parse_scenario(text % (group % ", mps: 2")), "gpus")
    shared = written(parse_scenario(text % "{gpu: l4, mps: 3}"), "gpus")
    plugin = yaml.safe_load(shared["device-plugin-group-0-l4.yaml"])
    assert plugin["flags"] == {"migStrategy": "none"}
    assert plugin["sharing"]["mps"]["resources"] == [{"name": "nvidia.com/gpu", "replicas": 3}]
    with pytest.raises(DeploymentError, match="all GPUs are whole and not shared"):
        written(parse_scenario(text % "{gpu: l4}"), "gpus")


def test_settings_without_an_option_are_named_and_all_others_are_options(tmp_path, capsys):
    settings = {
        "watermark": "2 %", "scheduler": "sglang", "lookahead": True, "graphs": "outside",
        "steps": {"a": "5 ms"}, "kv": "fp8", "chunked": False, "sequences": 32, "budget": 4096,
        "blocks": 500, "utilization": 0.5, "prefix_cache": "off", "tp": 2, "first_token": "prefill",
        "role": "prefill", "model": "llama-3.1-8b",
    }  # fmt: skip
    assert settings.keys() == EngineSpec.model_fields.keys()
    without = engine_arguments(EngineSpec())
    keys = {key for key in settings if key != "model"}
    named = {key for key in keys if engine_arguments(EngineSpec(**{key: settings[key]})) == without}
    data = parse_scenario(LANGUAGE).model_dump(mode="json")
    apart = [{"gpu": "h100", "gpus": 2, "engine": settings}, {"gpu": "h100", "engine": {"role": "decode"}}]
    data["cluster"]["servers"] = apart
    scenario = Scenario.model_validate(data)
    lines = unwritten_of(scenario, "kubernetes")
    assert {re.search(r"engine\.(\w+)", line)[1] for line in lines} == named
    for text in (written(scenario, "kubernetes")[n] for n in ("deployments.yaml", "vllm_serve.sh")):
        assert all(f"# {line}\n" in text for line in lines)
    path = tmp_path / "s.yaml"
    path.write_text(dump_scenario(scenario))
    assert main(["export", str(path), "--as", "kubernetes", "--anyway", "-o", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.splitlines()[-len(lines) :] == lines
    assert unwritten_of(scenario, "alerts") == []


PLAN = """{name: bought, cluster: {servers: [{count: 9, gpu: a100-40gb}]},
  workload: [{model: one, rate: 100/s, slo: 60 ms}],
  models: {one: {directed: true, nodes: [{id: a, compute_ms: {l4: 8, t4: 10, a100-40gb: 4}}], edges: []}},
  simulation: {jobs: 1000, replications: 2}, schedulers: [local],
  plan: {offers: [{gpu: l4, price: 1}, {gpu: t4, price: 0.9}], schedulers: [least-loaded]}}"""


def test_an_option_of_the_plan_is_written_and_read_back(tmp_path, capsys):
    path, planned = tmp_path / "s.yaml", tmp_path / "plan.json"
    path.write_text(PLAN)
    assert main(["plan", str(path), "--json"]) == 0
    options = json.loads(capsys.readouterr().out)["options"]
    number = next(n for n, option in enumerate(options, 1) if option["verdict"] == "keeps")
    (servers,) = options[number - 1]["servers"]
    command = ["export", str(path), "--as", "kubernetes", "-o", str(planned), "--option"]
    assert main([*command, str(number)]) == 0
    out = capsys.readouterr().out
    assert f"option {number}: {servers['count']} × {servers['gpu']}, least-loaded. Verdict: keeps" in out
    assert main(["import", str(planned), "--set", "network.capacity=25 Gbit/s", "--json"]) in (0, 2)
    capsys.readouterr()
    (group,) = import_files(given_files([planned])).data["cluster"]["servers"]
    assert (group["count"], group["gpu"]) == (servers["count"], servers["gpu"])
    misses = [n for n, option in enumerate(options, 1) if option["verdict"] == "misses"]
    for wrong, why in (
        (len(options) + 1, f"the plan has {len(options)} options"),
        *((n, "the verdict is 'misses") for n in misses[:1]),
    ):
        assert main([*command[:-1], "--force", "--option", str(wrong)]) == 2
        assert why in capsys.readouterr().err


BOARD = "a100-40gb"
LAYOUTS = sorted({layout.text for layout in legal_layouts(BOARD, extended=True)})


@examples(25)
@given(st.data())
@pytest.mark.parametrize("form", ["gpus", "kubernetes"])
def test_servers_divided_by_gpu_read_back(form, data):
    groups = []
    for _ in range(data.draw(st.integers(1, 3))):
        of = data.draw(st.lists(st.sampled_from(["whole", *LAYOUTS]), min_size=1, max_size=4))
        groups.append({"gpu": BOARD, "gpus": len(of), "mig": of, "count": data.draw(st.integers(1, 9))})
    groups.append({"gpu": "l4", "mps": 3, "vcpus": 8})
    row = {"model": "resnet50", "rate": 5}
    scenario = Scenario.model_validate({"cluster": {"servers": groups}, "workload": [row]})
    files = [file_of(name, text.encode()) for name, text in written(scenario, form).items()]
    again = Scenario.model_validate({"cluster": {"servers": import_files(files).data["cluster"]["servers"]}})
    assert sorted(map(repr, again.cluster.servers)) == sorted(map(repr, scenario.cluster.servers))


def test_what_was_changed_by_hand_in_a_written_file_is_read():
    text = """{cluster: {servers: [{gpu: a100-40gb, gpus: 2, mig: [3g.20gb, whole]}, {gpu: l4, mps: 3}]},
      workload: [{model: resnet50, rate: 5}]}"""
    files = written(parse_scenario(text), "gpus")
    files["mig-parted.yaml"] = files["mig-parted.yaml"].replace("3g.20gb: 1", "3g.20gb: 2")
    plugin = "device-plugin-group-1-l4.yaml"
    files[plugin] = files[plugin].replace("replicas: 3", "replicas: 5")
    found = import_files([file_of(name, text.encode()) for name, text in files.items()])
    first, second = found.data["cluster"]["servers"]
    assert (first["mig"], second["mps"]) == (["3g.20gb, 3g.20gb", "whole"], 5)
    wrong = files["mig-parted.yaml"].replace('"gpus": "2"', '"gpus": "many"')
    with pytest.raises(
        DeploymentError, match=r"^m\.yaml:\d+: gpus 'many' must be a whole number from 1 to 64"
    ):
        import_files([file_of("m.yaml", wrong.encode())])
    strange = import_files([file_of("m.yaml", b"version: v1\nmig-configs: {a: [{mig-enabled: false}]}\n")])
    assert [fact.value for fact in strange.facts.not_used] == [
        "no label of a node names one; give the nodes as well"
    ]


LANGUAGE = """{cluster: {servers: [{gpu: h100, engine: {}}]}, workload: [{rate: 2, name: chat,
  slo: {ttft: 600 ms},
  llm: {model: llama-3.1-8b, tokens: {input: {mean: 100, cv: 0.5}, output: 20}}}]}"""


def test_alerts_watch_the_next_lower_bucket_and_the_load_test_has_the_plans_numbers():
    scenario = parse_scenario(LANGUAGE)
    files = files_of(Standing(scenario, STANDS, headroom=1.5), "alerts")
    rules = yaml.safe_load(files["prometheus-rule.yaml"])["spec"]["groups"][0]["rules"]
    records = {r["record"]: r["expr"] for r in rules if "record" in r}
    alerts = {r["alert"]: r for r in rules if "alert" in r}
    assert all('le="0.5"' in expr for expr in records.values())
    assert len(records) == 4
    assert "asked 0.6 s" in alerts["TtftBudgetBurnsChatFast"]["annotations"]["summary"]
    assert "14.4 * 0.01" in alerts["TtftBudgetBurnsChatFast"]["expr"]
    assert alerts["TrafficBeyondPlanChat"]["expr"].endswith("> 3")
    for name in records:
        assert (
            samples(file_of("a.prom", f"{name} 1\n".encode()))[0].name == name
        )  # a name that Prometheus takes
    test = files["load_test.sh"]
    assert "--request-rate 2 " in test
    assert "--synthetic-input-tokens-mean 100 --synthetic-input-tokens-stddev 50" in test
    assert "p99 of time to first token at most 600 ms, or the plan is refuted" in test


TASKS = """{name: small, cluster: {servers: [{gpu: l4}]}, workload: [{model: resnet18, rate: %s, slo: 50 ms}],
  simulation: {jobs: 2000}, schedulers: [least-loaded]}"""


def test_what_misses_is_not_written_unless_anyway(tmp_path, capsys):
    path = tmp_path / "s.yaml"
    path.write_text(TASKS % "100000/s")
    out = tmp_path / "out"
    command = ["export", str(path), "--as", "kubernetes", "-o", str(out)]
    assert main(command) == 2
    assert "what does not keep its targets is not written" in capsys.readouterr().err
    assert not out.exists()
    assert main([*command, "--anyway"]) == 0
    assert "Verdict: not asked for" in (out / "deployments.yaml").read_text()


def test_what_keeps_is_written_with_its_verdict_and_headroom(tmp_path, capsys):
    path = tmp_path / "s.yaml"
    path.write_text(TASKS % "100/s")
    command = ["export", str(path), "--as", "alerts", "-o", str(tmp_path / "out")]
    assert main(command) == 0
    rule = (tmp_path / "out" / "prometheus-rule.yaml").read_text()
    assert "Verdict: keeps" in rule
    assert "resnet18: 100/s, SLO 50 ms" in rule
    most = float(re.search(r"\[15m\]\)\) > ([\d.e+]+)", rule)[1])
    assert most > 100  # the headroom that was seen
    (tmp_path / "out" / "load_test.sh").write_text("mine")
    capsys.readouterr()
    assert main(command) == 2
    assert "the file exists" in capsys.readouterr().err


def test_annotations_of_others_are_no_servers():
    text = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3, template: {spec: {nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}, containers: [
  {name: a, image: triton, resources: {limits: {nvidia.com/gpu: 2}}}]}}}
"""
    found = import_files([file_of("d.yaml", text.encode())])
    (group,) = found.data["cluster"]["servers"]
    assert (group["count"], group["gpu"], group["gpus"]) == (3, "l4", 2)
