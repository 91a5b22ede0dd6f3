"""The jobs of a scenario as a trace: the reader takes it back, with the same jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nona.scenario.file import load_scenario, parse_scenario
from nona.sources.lookup import Sources
from nona.sources.samples import scenario_names, scenario_path
from nona.study.training.preparation import has_trace, job_trace, prepare_training
from nona.training.system import Job

GPUS = "cluster: {servers: [{gpu: v100, gpus: 8}, {gpu: k80, gpus: 8}]}"
DRAWN = "generate: {jobs: 60, mean_gap: 600 s, multi_gpu: true, weights: true, slos: true}"
LISTED = """
  jobs:
    - {name: late, model: A3C, steps: 500, arrival: 90.25, slo: 1000 s, weight: 2.5}
    - {name: early, model: ResNet-50 (batch size 64), steps: 1234.5, workers: 2}
    - {name: own, throughputs: {v100: 3}, steps: 9}
    - {name: notebook, kind: interactive, duration: 1 h}
"""


def jobs_of(part: str, sources: Sources | None = None) -> tuple[Job, ...]:
    return prepare_training(parse_scenario(f"{GPUS}\ntraining: {{{part}}}\n"), sources or Sources()).jobs


@pytest.mark.parametrize("rates", ["gavel", "modelled"])
def test_drawn_jobs_come_back_exactly(tmp_path: Path, rates: str) -> None:
    part = f"{DRAWN}, throughputs: {rates}"
    text = job_trace(parse_scenario(f"{GPUS}\ntraining: {{{part}}}\n"))
    (tmp_path / "drawn.trace").write_text(text)
    if rates == "modelled":  # of a trace the modelled table has no deadlines
        assert text.count("\n") == 60
        return
    again = jobs_of("trace: drawn.trace", Sources(tmp_path))
    assert again == jobs_of(part)
    traced = parse_scenario(f"{GPUS}\ntraining: {{trace: drawn.trace}}\n")
    assert job_trace(traced, Sources(tmp_path)) == text


def test_listed_jobs_come_back_without_names(tmp_path: Path) -> None:
    text = job_trace(parse_scenario(f"{GPUS}\ntraining:\n{LISTED}"))
    (tmp_path / "listed.trace").write_text(text)
    before = {j.name: j for j in prepare_training(parse_scenario(f"{GPUS}\ntraining:\n{LISTED}")).jobs}
    after = jobs_of("trace: listed.trace", Sources(tmp_path))
    assert [replace(j, slo_s=None) for j in after] == [
        replace(before[old], name=new, slo_s=None) for new, old in (("0", "early"), ("1", "late"))
    ]
    assert after[0].slo_s is None
    assert after[1].slo_s == pytest.approx(1000.0)


def test_every_demo_that_has_a_trace_is_read_back(tmp_path: Path) -> None:
    shown = [load_scenario(scenario_path(name)) for name in scenario_names()]
    shown = [s for s in shown if s.training is not None and has_trace(s.training)]
    assert len(shown) >= 4
    for scenario in shown:
        (tmp_path / "jobs.trace").write_text(job_trace(scenario))
        part = scenario.training.model_copy(update={"trace": "jobs.trace", "generate": None, "jobs": ()})
        again = prepare_training(scenario.model_copy(update={"training": part}), Sources(tmp_path)).jobs
        before = [j for j in prepare_training(scenario).jobs if j.kind == "training"]
        told = [(j.model, j.steps, j.workers, j.weight, j.arrival_s) for j in again]
        assert sorted(told) == sorted((j.model, j.steps, j.workers, j.weight, j.arrival_s) for j in before)


def test_jobs_with_rates_of_their_own_alone_have_no_trace() -> None:
    own = parse_scenario(f"{GPUS}\ntraining: {{jobs: [{{name: a, throughputs: {{v100: 1}}, steps: 5}}]}}\n")
    assert own.training is not None
    assert not has_trace(own.training)
    assert not job_trace(own)
