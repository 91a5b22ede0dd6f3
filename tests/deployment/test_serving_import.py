"""vLLM, Prometheus, load tests, KServe, Ray Serve and profiles read as their files say."""

import json

import pytest
from importing import DATA, asked, imported, samples, values

from nona.core.errors import DeploymentError
from nona.deployment.files import file_of
from nona.deployment.importing import import_files
from nona.models.cost.measured import LOW_LOAD
from nona.scenario.file import parse_scenario
from nona.scenario.lookup import Sources
from nona.scenario.opening import open_bytes


def test_commands_of_vllm_become_engines():
    found = imported("vllm")
    first, second = (group["engine"] for group in found.data["cluster"]["servers"])
    assert first == {
        "sequences": 96, "budget": 3072, "utilization": 0.85, "prefix_cache": "off", "kv": "fp8",
        "model": "llama-3.2-3b",
    }  # fmt: skip
    assert second == {
        "tp": 2, "sequences": 32, "budget": 2048, "utilization": 0.7, "prefix_cache": "share",
        "model": "tiny-chat.config.json",
    }  # fmt: skip
    read = values(found.facts.read)
    assert read["meta-llama/Llama-3.2-3B-Instruct: tokens of a request at most"] == "8000"
    assert read["acme/tiny-chat-gptq: its shape"] == "12 layers of 1024, weights of 4.25 bits"
    assert values(found.facts.not_used)["meta-llama/Llama-3.2-3B-Instruct: --enable-lora"] == "true"
    places = {f.what: f.place for f in found.facts.read}
    assert places["meta-llama/Llama-3.2-3B-Instruct: sequences"] == "vllm/start.sh:3"
    assert places["acme/tiny-chat-gptq: sequences"] == "vllm/tiny.yaml:1"


@pytest.mark.parametrize(
    ("words", "graphs"), [("--enforce-eager", "outside"), ("--no-enforce-eager", None), ("", None)]
)
def test_eager_engines_have_no_graphs(words, graphs):
    script = file_of("run.sh", f"vllm serve meta-llama/Llama-3.1-8B-Instruct {words}".encode())
    found = import_files([script], {"llama-3.1-8b.gpu": "l4"})
    assert found.data["cluster"]["servers"][0]["engine"].get("graphs") == graphs
    assert not [what for what in values(found.facts.not_used) if "eager" in what]


def test_an_engine_stands_on_the_nodes_that_were_found():
    script = file_of("run.sh", b"vllm serve meta-llama/Llama-3.1-8B-Instruct -tp 2")
    node = json.loads((DATA / "nodes.json").read_text())["items"][0]
    found = import_files([script, file_of("n.json", json.dumps({"kind": "List", "items": [node]}).encode())])
    (group,) = found.data["cluster"]["servers"]
    assert (group["gpu"], group["gpus"], group["engine"]["tp"]) == ("h100", 4, 2)
    assumed = values(found.facts.assumed)
    assert assumed["meta-llama/Llama-3.1-8B-Instruct: utilization, vLLM's default"] == "0.92"
    assert asked(found) == {"llama-3.1-8b.input", "llama-3.1-8b.output", "llama-3.1-8b.rate"}


def node(name, product, gpus=2):
    labels = {"nvidia.com/gpu.product": product, "nvidia.com/gpu.count": str(gpus)}
    status = {"allocatable": {"cpu": "16", "nvidia.com/gpu": str(gpus)}}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def nodes(*products):
    items = [node(f"n{i}", product) for i, product in enumerate(products)]
    return file_of("nodes.json", json.dumps({"kind": "List", "items": items}).encode())


BLOCKS = b"vllm serve meta-llama/Llama-3.1-8B-Instruct --num-gpu-blocks-override=%d"


@pytest.mark.parametrize(
    ("command", "products", "likely", "why"),
    [(BLOCKS % 2000, ("Tesla-T4", "NVIDIA-L40S", "NVIDIA-H100-80GB-HBM3"), "l40s",
      "16.1 GB of weights and 4.19 GB of cache, which fit on l40s, h100"),
     (BLOCKS % 20000, ("Tesla-T4", "NVIDIA-L40S", "NVIDIA-H100-80GB-HBM3"), "h100",
      "41.9 GB of cache, which fit on h100"),
     (BLOCKS % 90000, ("Tesla-T4", "NVIDIA-L40S"), None, "which fit on none of the servers"),
     (BLOCKS % 20000 + b" -tp 2", ("NVIDIA-L40S",), "l40s",
      "8.03 GB of weights and 21 GB of cache, which fit on l40s"),
     (b"vllm serve Qwen/Qwen3-0.6B", ("Tesla-T4",), "t4", "1.19 GB of weights and a cache, which fit on t4"),
     (b"vllm serve acme/new-8b", ("Tesla-T4",), None, "device of the GPUs of new-8b (none: leave it out)")],
)  # fmt: skip
def test_the_likely_gpu_holds_weights_and_cache(command, products, likely, why):
    found = import_files([file_of("a.sh", command + b"\nvllm serve Qwen/Qwen2.5-7B"), nodes(*products)])
    question = next(f for f in found.facts.asked if f.key.endswith(".gpu"))
    assert question.value == likely
    assert why in question.what


def test_an_engine_stays_off_servers_without_room():
    found = import_files([file_of("a.sh", BLOCKS % 2000), nodes("Tesla-T4", "NVIDIA-L40S")])
    engines = {group["gpu"]: "engine" in group for group in found.data["cluster"]["servers"]}
    assert engines == {"t4": False, "l40s": True}
    said = values(found.facts.not_used)["llama-3.1-8b: its engine on t4"]
    assert said == "no room for 16.1 GB of weights and 4.19 GB of cache"


def test_two_scrapes_are_a_load():
    read = values(imported("scrapes").facts.read)
    assert read["embed: rate"] == "40/s"  # 800 in 20 s
    assert read["embed: mean batch"] == "4"  # 800 in 200 runs
    assert read["embed: mean wait in the queue"] == "1 ms"
    assert read["embed: step, mean over requests"] == "5.15 ms"  # 0.1 + 5 + 0.05
    assert read["embed: executors busy"] == "5.15 %"  # 200 × 5.15 ms in 20 s
    assert read["llama-3.2-3b: rate"] == "3/s"
    assert read["llama-3.2-3b: mean input tokens"] == "200"
    assert read["llama-3.2-3b: mean output tokens"] == "100"
    assert read["llama-3.2-3b: mean time to first token"] == "200 ms"
    whole = imported("scrapes", servers__gpu="l4", embed__time="3 ms", embed__slo="none",
                     **{"llama-3.2-3b__gpu": "l4", "network__capacity": "25 Gbit/s"})  # fmt: skip
    assert whole.facts.asked == ()
    scenario = open_bytes(whole.text.encode(), "s.yaml", Sources(None, in_memory=whole.files)).scenario
    assert scenario.workload[0].rate == 40
    assert scenario.language[0].rate == 3
    assert scenario.cluster.servers[1].engine.blocks == 2000  # 1,000 of 32 tokens


@pytest.mark.parametrize(
    ("key", "model"),
    [("embed.rate", "embed"), ("embed.time", "embed"), ("llama-3.2-3b.gpu", "llama-3.2-3b"),
     ("llama-3.2-3b.rate", "llama-3.2-3b")],
)  # fmt: skip
def test_a_scraped_model_is_left_out(key, model):
    found = import_files(samples("scrapes"), {key: "none"})
    assert values(found.facts.not_used)[model] == "left out, as was answered"
    assert not [one for one in asked(found) if one.startswith(model)]
    assert not [what for what in values(found.facts.assumed) if what.startswith(f"{model}: ")]
    names = [row["name"] for row in found.data["workload"]]
    assert names == [name for name in ("embed", "llama-3.2-3b") if name != model]
    assert all("engine" in group for group in found.data["cluster"]["servers"]) == (model == "embed")


def test_a_counter_that_fell_is_refused():
    first, last = samples("scrapes")
    fallen = file_of(
        last.name,
        last.data.replace(
            b'success_total{finished_reason="stop",model_name="llama-3.2-3b"} 50',
            b'success_total{finished_reason="stop",model_name="llama-3.2-3b"} 5',
        ),
    )
    with pytest.raises(DeploymentError, match=r"^scrapes/at_30.prom:10: the counter .* fell"):
        import_files([first, fallen])


def test_load_tests_give_times_and_checks():
    found = imported("load", embed__model="embed", embed__batch="2", pipe__batch="1")
    read = values(found.facts.read)
    assert read["embed: step of a batch of 2"] == "4.15 ms"
    # 100 requests of 2 inferences in a second, 4.15 ms each: clocks may have gone down
    assert read["embed: load while it was measured"] == f"41.5 %; {LOW_LOAD}"
    assert read["resize: load while it was measured"] == f"30 %; {LOW_LOAD}"
    busy = values(imported("load", embed__model="embed", embed__batch="1", pipe__batch="1").facts.read)
    assert busy["embed: load while it was measured"] == "83 %"
    assert read["embed: 4 users over 400/s"] == "10 ms, p50 measured 9.9 ms"
    assert read["resize: step of a batch of 1"] == "3 ms"
    assert "even or batched" in read["pipe: arrivals"]  # M/D/1 waits 0.83·8.3/(2·0.17) = 20 ms
    assert "20.3 ms" in read["pipe: arrivals"]
    assert read["embed: speed of each of 1, 2 instances beside others"] == "1, 0.75"
    assert read["meta-llama/Llama-3.2-3B-Instruct: input tokens"] == "{mean: 300, cv: 0.5}"
    assert read["meta-llama/Llama-3.2-3B-Instruct: 8 users over 4/s"] == "2 s, measured 2.01 s"
    assert (
        found.files["records.csv"] == b"arrival_s,input_tokens,output_tokens\n0.000000,20,5\n0.500000,30,7\n"
    )


def test_times_of_a_benchmark_fill_the_repository():
    found = import_files(samples("repository", "load"), {
        "embed.model": "embed", "embed.batch": "1", "pipe.batch": "1", "router.rate": "none",
    })  # fmt: skip
    nodes = {n["id"]: n for n in json.loads(found.files["photos.json"])["nodes"]}
    assert nodes["describe/embed"]["compute_ms"] == 4.15
    assert nodes["resize"]["compute_ms"] == 3.0
    assert {"embed.time", "resize.time"}.isdisjoint(asked(found))


def test_an_inference_graph_becomes_a_row_for_each_way():
    answers = {"visits.root.2": "60%", "visits.rate": "100/s", "visits.slo": "none", "servers.gpu": "l4",
               "visits.bytes": "10 kB"}  # fmt: skip
    found = import_files(
        samples("kserve"), answers | {f"{s}.time": "5 ms" for s in ("look", "left", "old", "new")}
    )
    assert found.facts.asked == ()
    rows = {row.label: row.rate for row in parse_scenario(found.text).workload}
    assert rows == pytest.approx({"visits-old": 45, "visits-new": 15, "visits": 40})
    graph = json.loads(found.files["visits-old.json"])
    assert {(e["source"], e["target"]) for e in graph["edges"]} == {("look", "left"), ("look", "old")}
    read = values(found.facts.read)
    assert read["look: replicas"] == "1 to 3, each 1 × gpu, on l4"
    assert read["look: batching"] == "{max_batch: 8, delay: 5 ms}"
    assert read["left: replicas"] == "1, each on CPUs"


def test_ray_serve_asks_its_graph():
    found = imported("ray")
    assert asked(found) == {"shop.graph", "Rank.batching"}
    assert values(found.facts.read)["shop: Rank: replicas"] == "1 to 100, each 0.5 of a GPU t4"
    chain = import_files(samples("ray"), {"shop.graph": "Front, Rank", "shop.Front.bytes": "1 kB"})
    assert [n["id"] for n in json.loads(chain.files["shop.json"])["nodes"]] == ["Front", "Rank"]


def test_profiles_are_times_of_layers():
    found = imported("trt")
    read = values(found.facts.read)
    assert read["embed_b4: median compute of 3 runs"] == "2.5 ms"
    assert next(f.value for f in found.facts.asked if f.key == "embed_b4.batch") == "4"
    assert read["layers_time: all layers together"] == "600 us"
    assert read["trace: /a/Conv"] == "40 us"  # the first run is dropped
    assert read["trace: /b/TopK, on the CPU: a host step"] == "70 us"


def test_a_scenario_is_opened_not_imported():
    with pytest.raises(DeploymentError, match=r"^s.yaml:1: it is a scenario already; open it as one\.$"):
        import_files([file_of("s.yaml", b"version: 1\ncluster: {servers: []}\n")])
