"""Engines of one GPU or of several: the lines beside simulations, and where they end."""

from __future__ import annotations

import pytest

from nona.core.errors import ScenarioError
from nona.language.report.figures import sizes_finding
from nona.language.results import SizeCurve
from nona.language.workflows.engines import prepare_language
from nona.language.workflows.simulation import simulate_language
from nona.language.workflows.sizes import engine_sizes, own_rate
from nona.scenario.file import scenario_from_mapping
from nona.scenario.lookup import Sources


def scenario(rate="20/s", outputs=100, **group):
    llm = {"model": "llama-3.1-8b", "tokens": {"input": 500, "output": outputs}}
    return scenario_from_mapping(
        {
            "cluster": {"servers": [{"gpu": "h100", "gpus": 4, "engine": {}, **group}]},
            "workload": [{"rate": rate, "llm": llm}],
            "simulation": {"jobs": 3000, "replications": 3},
            "schedulers": ["round-robin"],
        }
    )


def sizes(of):
    return engine_sizes(of, Sources(), of.cluster.servers[0])


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_line_is_what_is_simulated(size) -> None:
    curve = next(c for c in sizes(scenario()) if c.gpus == size)
    assert curve.engines == 4 // size
    at = len(curve.rates) // 3
    of = scenario(f"{curve.rates[at]}/s", engine={"tp": size})
    report = simulate_language(prepare_language(of)).report
    (row,) = report.schedulers["round-robin"].models.values()
    assert row.tpot_s.mean == pytest.approx(curve.tpot_s[at], rel=0.03)


def test_the_scenarios_own_rate_is_that_of_the_gpus_that_are_compared() -> None:
    for count, group, own in ((1, {}, 20), (5, {}, 4), (5, {"gpus": 1}, 8), (2, {"engine": {"tp": 2}}, 10)):
        study = prepare_language(scenario(count=count, **group))
        assert own_rate(study, 0) == pytest.approx(own)
    data = scenario().model_dump(mode="json")
    data["cluster"]["servers"] = [{"gpu": "h100", "gpus": gpus, "engine": {}} for gpus in (4, 1)]
    study = prepare_language(scenario_from_mapping(data))
    assert [own_rate(study, group) for group in (0, 1)] == pytest.approx([16, 8])


def test_a_line_ends_where_the_cache_or_the_engine_is_full() -> None:
    for outputs in (1, 2000):  # prompts alone; answers that stay long
        for curve in sizes(scenario(outputs=outputs)):
            study = prepare_language(scenario(f"{curve.rates[-1]}/s", outputs, engine={"tp": curve.gpus}))
            report = simulate_language(study).report
            said = report.schedulers["round-robin"].predicted["llama-3.1-8b"]
            cache = study.system.engines[0].kv_tokens
            assert said.load == pytest.approx(0.999) or said.kv_tokens == pytest.approx(cache, rel=1e-6)
            assert said.load < 1
            assert said.kv_tokens <= cache * (1 + 1e-6)


def test_a_single_gpu_counts_as_two_and_a_model_that_fits_none_is_refused() -> None:
    assert {c.gpus: c.engines for c in sizes(scenario(gpus=1))} == {1: 2, 2: 1}
    with pytest.raises(ScenarioError, match="fits none of its sizes"):
        sizes(scenario(gpu="t4", gpus=1, engine={"utilization": 0.3}))
    with pytest.raises(ScenarioError, match="the formula of this chart needs engines"):
        sizes(scenario(engine={"scheduler": "sglang"}))


def test_the_finding_names_where_lines_cross() -> None:
    one = SizeCurve(gpus=1, engines=2, rates=(1, 2, 4, 8), tpot_s=(0.010, 0.011, 0.012, 0.020), error=0)
    two = SizeCurve(gpus=2, engines=1, rates=(1, 2, 4), tpot_s=(0.006, 0.009, 0.014), error=0)
    assert sizes_finding([one, two]) == (
        "Engines of 2 GPUs give tokens soonest at low rates; from 4 requests/s on engines of 1 GPU do, which "
        "serve up to 8 in place of 4."
    )
    assert "serve the most: 4 requests/s" in sizes_finding([two])
