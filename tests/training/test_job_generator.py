"""Generated jobs: the draws of the specification, their distribution, determinism."""

from __future__ import annotations

from itertools import pairwise
from math import log, log10
from random import Random

import pytest

from nona.errors import SimulationError
from nona.training.generated_jobs import MODELS, Generation, generate, models_of
from nona.training.job_files import TraceJob
from nona.training.system import AloneKey, Throughputs
from nona.training.throughput_table import shipped_throughputs

TABLE = shipped_throughputs()
MANY = generate(Generation(6000, 600, multi_gpu=True, weights=True, slos=True), TABLE, 0)


def duration_s(job: TraceJob) -> float:
    return job.steps / TABLE.rate("v100", job.model, job.workers)


def share(chosen: float) -> object:
    """Within four standard deviations of a share of 6,000 jobs."""
    return pytest.approx(chosen, abs=4 * (chosen * (1 - chosen) / len(MANY)) ** 0.5)


def test_draw_by_draw_as_specified() -> None:
    """Written out once more from the specification, job by job."""
    jobs, arrivals, slos = Random(7 + 2), Random(7 + 3), Random(7 + 6)
    now = 0.0
    for number, job in enumerate(generate(Generation(200, 450, True, True, True), TABLE, 7)):
        u = jobs.uniform(0, 1)
        size = 8 if u >= 0.95 else 4 if u >= 0.8 else 2 if u >= 0.7 else 1
        seconds = 60 * 10 ** jobs.uniform(3, 4) if jobs.random() >= 0.8 else 60 * 10 ** jobs.uniform(1.5, 3)
        model = jobs.choice(MODELS)
        while size > 1 and model not in MODELS[:19]:
            model = jobs.choice(MODELS)
        weight = 5.0 if jobs.uniform(0, 1) <= 0.2 else 1.0
        v = slos.uniform(0, 1)
        slo = 1.2 if v < 0.33 else 2.0 if v < 0.67 else 10.0
        steps = seconds * TABLE.rate("v100", model, size)
        assert job == TraceJob(model, steps, size, weight, slo, now), number
        now -= log(1 - arrivals.random()) * 450


def test_one_gpu_each_draws_the_sizes_all_the_same() -> None:
    single = generate(Generation(300, 600), TABLE, 3)
    several = generate(Generation(300, 600, multi_gpu=True), TABLE, 3)
    assert {job.workers for job in single} == {1}
    first = next(i for i, job in enumerate(several) if job.workers > 1)
    assert first > 0
    assert several[:first] == single[:first]
    assert [j.arrival_s for j in several] == [j.arrival_s for j in single]
    assert {(j.weight, j.slo_factor) for j in single} == {(1.0, None)}


def test_equal_seeds_give_equal_jobs_and_others_give_others() -> None:
    what = Generation(50, 600)
    assert generate(what, TABLE, 5) == generate(what, TABLE, 5)
    assert generate(what, TABLE, 5) == generate(Generation(80, 600), TABLE, 5)[:50]
    others = {generate(what, TABLE, 5, r) for r in range(3)} | {generate(what, TABLE, 6)}
    assert len(others) == 4


def test_sizes_weights_slos_models() -> None:
    for size, chosen in ((1, 0.7), (2, 0.1), (4, 0.15), (8, 0.05)):
        assert sum(job.workers == size for job in MANY) / len(MANY) == share(chosen)
    assert sum(job.weight == 5 for job in MANY) / len(MANY) == share(0.2)
    for factor, chosen in ((1.2, 0.33), (2.0, 0.34), (10.0, 0.33)):
        assert sum(job.slo_factor == factor for job in MANY) / len(MANY) == share(chosen)
    single = [job.model for job in MANY if job.workers == 1]
    assert max(single.count(m) for m in MODELS) < 1.4 * len(single) / 26
    assert min(single.count(m) for m in MODELS) > 0.6 * len(single) / 26
    assert {job.model for job in MANY if job.workers > 1} == set(MODELS[:19])


def test_durations_and_gaps() -> None:
    logs = [log10(duration_s(job) / 60) for job in MANY]
    assert 1.5 <= min(logs) < max(logs) < 4
    assert sum(x >= 3 for x in logs) / len(logs) == share(0.2)
    short = [x for x in logs if x < 3]
    assert sum(x < 2.25 for x in short) / len(short) == pytest.approx(0.5, abs=0.03)
    gaps = [b.arrival_s - a.arrival_s for a, b in pairwise(MANY)]
    assert MANY[0].arrival_s == 0
    assert sum(gaps) / len(gaps) == pytest.approx(600, rel=0.05)
    assert sum(g > 600 for g in gaps) / len(gaps) == pytest.approx(0.3679, abs=0.03)
    assert {job.arrival_s for job in generate(Generation(9, 0), TABLE, 0)} == {0}


def test_another_table_gives_its_own_models() -> None:
    rates = {AloneKey("a", "x", 1): 2.0, AloneKey("b", "x", 1): 3.0, AloneKey("b", "y", 1): 1.0}
    table = Throughputs(rates | {AloneKey("b", "y", 4): 4.0}, provenance={"a": "given", "b": "given"})
    jobs = generate(Generation(400, 0, multi_gpu=True), table, 0)
    assert {(job.model, job.workers) for job in jobs} == {("x", 1), ("y", 1), ("y", 4)}
    short = min(job.steps for job in jobs if job.model == "x")
    assert short >= 3.0 * 60 * 10**1.5  # durations are those on the fastest GPU
    assert models_of(TABLE) == MODELS


def test_a_table_without_single_gpus_is_refused() -> None:
    table = Throughputs({AloneKey("a", "x", 2): 1.0}, provenance={"a": "given"}, source="t.csv")
    with pytest.raises(SimulationError, match="no model runs on a single GPU"):
        generate(Generation(1, 0), table, 0)
    with pytest.raises(SimulationError, match="of a100-40gb"):
        generate(Generation(1, 0), TABLE, 0, gpus={"a100-40gb": 8})


def test_jobs_fit_the_cluster_that_they_are_drawn_for() -> None:
    what = Generation(2000, 0, multi_gpu=True)
    whole = generate(what, TABLE, 1, gpus={"k80": 8, "p100": 8, "v100": 8})
    assert whole == generate(what, TABLE, 1)
    small = generate(what, TABLE, 1, gpus={"k80": 4})
    assert {job.workers for job in small} == {1, 2, 4}
    assert all(TABLE.rate("k80", job.model, job.workers) > 0 for job in small)
    assert sum(a == b for a, b in zip(small, whole, strict=True)) > 5
