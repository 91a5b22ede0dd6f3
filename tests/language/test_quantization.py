"""Weights and caches in their real width, as a model's ``config.json`` and an engine say it."""

import json
from dataclasses import replace

import pytest

from nona.core.errors import GraphError, ScenarioError
from nona.language.gpu import memory_split, weight_bytes, widths
from nona.language.models import language_models, read_config
from nona.language.quantization import grouped_bits
from nona.language.workflows.engines import prepare_language
from nona.scenario.file import parse_scenario
from nona.scenario.lookup import Sources

QWEN = {
    "model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
    "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064, "tie_word_embeddings": False,
}  # fmt: skip


def read(**more):
    return read_config(json.dumps(QWEN | more).encode(), "config.json")


def compressed(**weights):
    weights = {"num_bits": 4, "type": "int", "group_size": 128} | weights
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}


@pytest.mark.parametrize(
    ("given", "bits"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, 4.125),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 8.0),
        ({"quant_method": "gptq", "bits": 3, "group_size": 64}, 3.25),
        ({"quant_method": "fp8", "activation_scheme": "dynamic"}, 8.0),
        (compressed(), 4.125),
        (compressed(num_bits=8, type="float", group_size=None), 8.0),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, 4.127),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8.0),
    ],
)
def test_layers_have_the_width_that_the_file_says_and_all_else_16_bits(given, bits):
    model = read(quantization_config=given)
    plain, of = read(), widths(model, "fp16")
    assert model.quantization.bits == pytest.approx(bits, abs=1e-3)
    assert weight_bytes(model, of) == pytest.approx(
        plain.layer_weights * bits / 8 + 2 * plain.other_weights, rel=1e-4
    )
    assert not model.alike(plain)


def test_a_model_in_awq_needs_a_third_of_the_memory():
    """Qwen2.5-7B-AWQ: 6.53e9 weights of 4.125 bits, and 1.09e9 of 16 bits, are 5.55 GB (15.2 in bf16)."""
    model = read(quantization_config={"quant_method": "awq", "bits": 4, "group_size": 128})
    assert model.alike(replace(language_models()["qwen2.5-7b"], quantization=model.quantization))
    assert weight_bytes(model, widths(model, "fp16")) == pytest.approx(5.55e9, rel=0.002)
    assert weight_bytes(read(), widths(read(), "fp16")) == pytest.approx(15.2e9, rel=0.005)
    assert weight_bytes(read(), widths(read(), "int4")) == pytest.approx(5.55e9, rel=0.002)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"quant_method": "aqlm"}, "'aqlm' is not modelled; give weights in 16 bits, or in one of awq"),
        ({"bits": 4}, "quantization '' is not modelled"),
        ({"quant_method": "awq", "bits": 5}, "bits='5' must be one of 2, 3, 4, 8"),
        ({"quant_method": "awq", "group_size": "many"}, "group_size='many' must be a whole number"),
        ({"quant_method": "bitsandbytes"}, "load_in_4bit or load_in_8bit"),
        ({"quant_method": "compressed-tensors", "config_groups": {}}, "0 kinds of weights"),
        ("awq", "must be a mapping"),
    ],
)
def test_a_width_that_is_not_understood_is_refused_in_one_line(given, why):
    with pytest.raises(GraphError) as caught:
        read(quantization_config=given)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_parts_that_stay_as_they_are_and_a_narrower_cache_are_named():
    given = {
        "quant_method": "awq",
        "modules_to_not_convert": ["lm_head", "model.layers.0"],
        "kv_cache_scheme": {"num_bits": 8},
    }
    layers, cache = read(quantization_config=given).notes
    assert layers.startswith("1 parts of its layers stay in 16 bits (model.layers.0")
    assert "engine.kv: fp8" in cache


def test_only_layers_that_attend_keep_keys_and_values():
    kinds = (["linear_attention"] * 3 + ["full_attention"]) * 7
    hybrid, gemma = read(layer_types=kinds), read(layer_types=["sliding_attention", "full_attention"] * 14)
    assert (hybrid.kv_layers, gemma.kv_layers) == (7, 28)
    assert hybrid.kv_bytes(2) * 4 == read().kv_bytes(2) == gemma.kv_bytes(2)
    assert "21 of 28 layers keep no KV" in hybrid.notes[0]
    assert "14 of 28 layers see a window" in gemma.notes[0]
    for wrong, why in (
        (["full_attention", "hyena"], "'hyena'"),
        (["mamba"] * 28, "none of its layers attends"),
    ):
        with pytest.raises(GraphError, match=why):
            read(layer_types=wrong)
    nested = {"model_type": "gemma3", "text_config": QWEN, "quantization_config": {"quant_method": "fp8"}}
    assert read_config(json.dumps(nested).encode(), "config.json").quantization.bits == 8


def scenario(precision="auto", engine="{}", rows=""):
    server = f"{{count: 1, gpu: a10g, engine: {engine}}}"
    row = "{llm: {model: qwen2.5-7b, tokens: {input: 100, output: 10}}, rate: 1/s}"
    return parse_scenario(
        f"{{cluster: {{servers: [{server}]}}, cost: {{precision: {precision}}}, workload: [{row}{rows}]}}"
    )


def test_the_engine_s_cache_is_as_wide_as_it_says():
    def engine(**more):
        return prepare_language(scenario(**more), Sources()).system.engines[0]

    wide, narrow, four = engine(), engine(engine="{kv: fp8}"), engine(precision="int4")
    assert (wide.kv_bytes, narrow.kv_bytes) == (57_344, 28_672)
    assert narrow.blocks == pytest.approx(2 * wide.blocks, abs=1)
    of = widths(language_models()["qwen2.5-7b"], "fp16")
    split = memory_split(language_models()["qwen2.5-7b"], 24e9, 0.9, 1, of, 2048, 256)
    freed = weight_bytes(read(), of) - weight_bytes(read(), widths(read(), "int4"))
    assert four.blocks - wide.blocks == pytest.approx(freed / split.kv_block, abs=1)
    assert four.steps.a < wide.steps.a, "fewer bytes are read in each step"
    assert grouped_bits(4, 0) == 4


def test_four_bits_are_for_language_models_only():
    with pytest.raises(ScenarioError, match="int4 holds for language models only"):
        scenario("int4", rows=", {model: resnet18, rate: 1/s}")
