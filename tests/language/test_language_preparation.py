"""What engines and requests rest on: step times, memory, lengths and traces, against published figures."""

import json

import numpy as np
import pytest

from nona.cluster.hardware.executor import executor_class
from nona.cluster.hardware.table_file import shipped_table
from nona.core.errors import NonaError
from nona.language.gpu import _law, requests_that_fit, step_times, widths
from nona.language.models import language_models, read_config
from nona.language.records import MeasuredWindow, Requests
from nona.language.run import simulate_once
from nona.language.traces import read_tokens
from nona.language.workflows.engines import prepare_language
from nona.scenario.file import scenario_from_mapping
from nona.scenario.lookup import Sources

ROWS = shipped_table("nona.language", "data/steps.csv")
MIXTRAL = language_models()["mixtral-8x7b"]
LLAMA = language_models()["llama-3.1-8b"]
PUBLISHED = {  # billions of weights and bytes of a token's KV, from the models' cards
    "llama-3.1-8b": (8.03, 131_072),
    "llama-3.1-70b": (70.6, 327_680),
    "llama-2-7b": (6.74, 524_288),
    "llama-2-70b": (69.0, 327_680),
    "mixtral-8x7b": (46.7, 131_072),
    "mistral-7b": (7.24, 131_072),
    "qwen2.5-7b": (7.62, 57_344),
    "gpt2": (0.124, 36_864),
    "gpt2-xl": (1.56, 307_200),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_models_have_the_weights_and_the_kv_of_their_cards(name):
    model, (weights, kv) = language_models()[name], PUBLISHED[name]
    assert model.parameters / 1e9 == pytest.approx(weights, rel=0.005)
    assert model.kv_bytes(2) == kv


def test_step_times_of_the_table_hold_for_its_model_gpu_and_number_alone():
    h100 = step_times(LLAMA, executor_class("h100"), 1, widths(LLAMA, "fp16"))
    assert (h100.provenance, h100.times.a, h100.times.q) == ("calibrated", 6.367e-3, 1.69e-9)
    assert h100.times.seconds(1, 512, 0, 0) == pytest.approx(6.48e-3, rel=0.03)  # vLLM 0.21, one request
    others = [("h100", 8, "fp16"), ("h100", 1, "fp8"), ("a100-40gb", 1, "fp16"), ("h100/3g.40gb", 1, "fp16")]
    for name, tp, precision in others:
        assert step_times(LLAMA, executor_class(name), tp, widths(LLAMA, precision)).provenance == "modelled"
    mixtral = step_times(MIXTRAL, executor_class("h100"), 2, widths(MIXTRAL, "fp16")).times
    assert mixtral.seconds(1, 0, 0, 0) == pytest.approx(2.19e-3 + 2 * 1.95e-3 + 17.3e-6)  # two experts


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['model']}-{r['gpu']}-{r['tp']}")
def test_the_law_is_near_what_was_measured(row):
    model, kind, tp = language_models()[row["model"]], executor_class(row["gpu"]), int(row["tp"])
    law, known = (
        _law(model, kind, tp, widths(model, "fp16")),
        step_times(model, kind, tp, widths(model, "fp16")).times,
    )
    steps = [(n, n * 1024, 0, 0) for n in (1, 16, 256)] + [(0, 0, x, x * x / 2) for x in (128, 2048)]
    ratios = [law.seconds(*step) / known.seconds(*step) for step in steps]
    most = 1.45 if row["gpu"] == "rtx-4090" else 1.3
    assert 0.75 < min(ratios) <= max(ratios) < most


def test_more_bandwidth_more_gpus_and_fewer_bits_make_steps_shorter():
    def seconds(name, tp=1, precision="fp16"):
        return _law(LLAMA, executor_class(name), tp, widths(LLAMA, precision)).seconds(32, 32_000, 0, 0)

    assert seconds("b200") < seconds("h200") < seconds("h100") < seconds("a100-80gb") < seconds("l4")
    assert seconds("h100", 4) < seconds("h100", 2) < seconds("h100")
    assert (
        seconds("h100", precision="int4")
        < seconds("h100", precision="fp8")
        < seconds("h100")
        < seconds("h100/3g.40gb")
    )


CONFIG = {
    "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
    "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
}  # fmt: skip


def test_a_config_file_describes_a_model():
    own = read_config(json.dumps(CONFIG).encode(), "mine.json")
    assert own.alike(LLAMA)
    assert step_times(own, executor_class("h100"), 1, widths(own, "fp16")).provenance == "calibrated"
    gpt2 = {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257}
    assert read_config(json.dumps(gpt2).encode(), "g.json").alike(language_models()["gpt2"])
    bad = {"[1]": "no JSON object", "{": "no JSON object", "{}": "num_hidden_layers is missing"}
    bad[json.dumps(CONFIG | {"hidden_size": -1})] = "must be a whole number"
    bad[json.dumps(CONFIG | {"kv_lora_rank": 512})] = "not modelled"
    for text, why in bad.items():
        with pytest.raises(NonaError, match=rf"^Language model 'c\.json'.*{why}"):
            read_config(text.encode(), "c.json")


def _study(tmp_path, llm=(), group=(), engine=(), files=(), **row):
    tokens = {} if "trace" in dict(llm) else {"tokens": {"input": 512, "output": 128}}
    own = {
        "llm": {"model": "llama-3.1-8b", **tokens, **dict(llm)},
        **({} if "trace" in dict(llm) else {"rate": 3}),
        **row,
    }
    servers = [{"gpu": "t4"}, {"gpu": "h100", **dict(group), "engine": dict(engine)}]
    for name, text in dict(files).items():
        (tmp_path / name).write_text(text)
    scenario = scenario_from_mapping({"cluster": {"servers": servers}, "workload": [own]})
    return prepare_language(scenario, Sources(tmp_path))


def test_memory_is_divided_and_counted(tmp_path):
    study = _study(tmp_path, group={"count": 2, "gpus": 4}, engine={"tp": 2})
    engine, memory = study.system.engines[0], study.facts[0].memory
    assert [e.server for e in study.system.engines] == [1, 1, 2, 2]  # after those that run tasks
    assert len({e.name for e in study.system.engines}) == 4
    assert engine.kv_bytes == 131_072
    assert memory.beside_kv + engine.blocks * memory.kv_block == pytest.approx(
        memory.usable, abs=memory.kv_block
    )
    assert memory.weights == pytest.approx(8.03e9, rel=0.001)  # half of 8.03 billion, two bytes each
    assert (engine.budget, engine.sequences) == (8192, 1024)
    small = _study(tmp_path, group={"gpu": "rtx-4090"}).system.engines[0]
    assert (small.budget, small.sequences) == (2048, 256)
    assert requests_that_fit(small.blocks, 640) == small.blocks // 40


def test_lengths_have_the_moments_that_are_asked_for(tmp_path):
    spec = {"input": {"mean": 512, "cv": 1}, "output": [10, 20, 60], "prefix": {"tokens": 100, "groups": 4}}
    (row,) = _study(tmp_path, llm={"tokens": spec}).system.rows
    inputs, outputs = row.lengths.tokens.T
    assert inputs.mean() == pytest.approx(512, rel=0.002)
    assert inputs.std() / inputs.mean() == pytest.approx(1, rel=0.01)
    assert np.bincount(outputs)[[10, 20, 60]] / len(outputs) == pytest.approx(1 / 3, rel=0.001)
    assert abs(np.corrcoef(inputs, outputs)[0, 1]) < 0.02
    assert np.bincount(row.lengths.prefix[:, 0]) / len(inputs) == pytest.approx(0.25)
    assert (row.lengths.prefix[:, 1] == np.minimum(inputs, 100)).all()
    (row,) = _study(tmp_path).system.rows
    assert row.lengths.tokens.tolist() == [[512, 128]]


OURS = "arrival_s,input_tokens,output_tokens\n3,100,9\n1,200,5\n2,300,0\n5,400,7\n"


def test_a_trace_is_replayed_once_or_stretched_or_asked_by_users(tmp_path):
    llm, files = {"trace": "r.csv"}, {"r.csv": OURS}
    once = _study(tmp_path, llm, files=files)
    (row,) = once.system.rows
    assert row.lengths.tokens.tolist() == [[200, 5], [100, 9], [400, 7]]
    assert row.arrivals.times_s == (0.0, 2.0, 4.0)
    assert (row.rate, row.arrivals.scale_to_rate, row.lengths.in_order) == (0.5, False, True)
    assert "1 requests of the trace have no input or no output" in once.warnings[0]
    (stretched,) = _study(tmp_path, llm, rate="2/s").system.rows
    assert (stretched.rate, stretched.arrivals.scale_to_rate) == (2.0, True)
    (closed,) = _study(tmp_path, llm, concurrency=8).system.rows
    assert (closed.concurrency, closed.arrivals.process) == (8, "poisson")


def test_what_does_not_fit_is_refused_or_said(tmp_path):
    with pytest.raises(
        NonaError, match=r"^cluster\.servers\[1\]\.engine\.tp: .*smallest tp that fits is 2\.$"
    ):
        _study(tmp_path, llm={"model": "llama-3.1-70b"})
    with pytest.raises(NonaError, match=r"engine\.tp: 3 must divide the 32 heads"):
        _study(tmp_path, group={"gpus": 3}, engine={"tp": 3})
    with pytest.raises(
        NonaError, match=r"engine\.budget: 256 must be at least the longest prompt, 512 tokens"
    ):
        _study(tmp_path, engine={"budget": 256, "chunked": False})
    facts = _study(tmp_path, engine={"blocks": 39}).facts[0]
    assert "100.0 % of the requests" in facts.warnings[0]
    assert "modelled" in _study(tmp_path, group={"gpu": "l4"}).facts[0].warnings[0]


MOONCAKE = "\n".join(
    json.dumps({"timestamp": t, "input_length": n, "output_length": 5, "hash_ids": blocks})
    for t, n, blocks in (
        (0, 1500, [0, 1, 2]),
        (0, 1100, [0, 1, 4]),
        (3000, 1100, [7, 8, 9]),
        (6000, 600, [0, 5]),
    )
)
TRACES = {
    "azure.csv": (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n"
        "2023-11-16 18:17:04.0319600,3180,8\n",
        [0, 0.052],
        [[4808, 10], [3180, 8]],
    ),
    "burst.csv": (
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,,1.2,ChatGPT,472,18,490,Conversation log\n45,,0,GPT-4,1087,0,1087,API log\n"
        "48,,3,GPT-4,10,9,19,API log\n",
        [0, 43],
        [[472, 18], [10, 9]],
    ),
    "mooncake.jsonl": (MOONCAKE, [0, 1.5, 3, 6], [[1500, 5], [1100, 5], [1100, 5], [600, 5]]),
    "guidellm.json": (
        '{"benchmarks": [{"requests": {"successful": [{"start_time": 17.5, "prompt_tokens": 50, '
        '"output_tokens": 4}, {"info": {"timings": {"request_start": 18.5}}, "prompt_tokens": 60, '
        '"output_tokens": 6}], "errored": [{"start_time": 18, "prompt_tokens": 5}]}}]}',
        [0, 1],
        [[50, 4], [60, 6]],
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_traces_are_read_as_they_are(name):
    text, times, tokens = TRACES[name]
    trace = read_tokens(text.encode(), name)
    assert trace.times_s == pytest.approx(times)
    assert trace.tokens.tolist() == tokens
    assert trace.left_out == (name in ("burst.csv", "guidellm.json"))
    assert trace.spread == (name == "mooncake.jsonl")
    if trace.prefix is not None:
        assert trace.prefix.tolist() == [[0, 1024], [0, 1024], [-1, 0], [-1, 0]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no single column of input_tokens"),
        ("arrival_s,input_tokens\n1,2\n", "no single column of output_tokens"),
        ("input_tokens,output_tokens\n1,2\n", "no single column of arrival"),
        ("arrival_s,input_tokens,output_tokens\n", "no request; give"),
        ("arrival_s,input_tokens,output_tokens\n1,2,0\n", "its 1 rows lack tokens"),
        ("arrival_s,input_tokens,output_tokens\n1,2.5,3\n", "line 2: '2.5' tokens must be a whole number"),
        ("arrival_s,input_tokens,output_tokens\nnow,2,3\n", "line 2: 'now' is neither a number"),
        ('{"timestamp": 1', "begins as JSON and is not"),
    ],
)
def test_bad_traces_are_refused_in_one_line(text, why):
    with pytest.raises(NonaError, match=rf"^Trace 'bad\.csv'.*{why}") as raised:
        read_tokens(text.encode(), "bad.csv")
    assert "\n" not in str(raised.value)


def test_shipped_step_times_give_what_vllm_took_on_an_rtx_4090(tmp_path):
    measured = shipped_table("nona.language", "data/vllm_rtx4090.csv")
    arrival, ttft, e2e = (
        np.array([float(r[key]) for r in measured]) for key in ("arrival_s", "ttft_s", "e2e_s")
    )
    text = "\n".join(",".join(cells) for cells in (measured[0], *(row.values() for row in measured)))
    engine = {"blocks": 2588, "budget": 2048, "sequences": 256}
    study = _study(tmp_path, {"trace": "r.csv"}, {"gpu": "rtx-4090"}, engine, {"r.csv": text})
    inputs, outputs = study.system.rows[0].lengths.tokens.T
    none = np.zeros(len(arrival), dtype=np.int64)
    requests = Requests(arrival, none, inputs, outputs, none - 1, none, np.zeros(len(none)))
    run = simulate_once(study.system, requests, "round-robin", MeasuredWindow(300))
    first_s, last_s = run.times.first_s - arrival, run.times.end_s - arrival
    assert last_s.mean() == pytest.approx(e2e.mean(), rel=0.03)
    assert first_s.mean() == pytest.approx(ttft.mean(), rel=0.05)
    assert np.percentile(last_s, 99) == pytest.approx(np.percentile(e2e, 99), rel=0.03)
    times = ((last_s - first_s) / (outputs - 1), (e2e - ttft) / (outputs - 1))
    assert times[0].mean() == pytest.approx(times[1].mean(), rel=0.03)
