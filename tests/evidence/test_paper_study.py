"""The paper's evaluation: what ships is what the study computes, and its words follow its numbers."""

import math
from dataclasses import replace

import pytest

from evidence.paper import CLAIM, SCENARIO, growth, paper_scenario, paper_study, reach
from evidence.reports import paper
from evidence.results import Growth, OverloadRun, PaperStudy
from nona.core.statistics import paired_ratio
from nona.queries.placement.fixed import spread_placement
from nona.queries.placement.prediction import predict
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.replications import run_replications
from nona.queries.simulation.run import RunOptions
from nona.queries.sweeps.numbers import LINK, with_value
from nona.queries.workflows.placements import place
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.shipped import stored_result
from nona.queries.workflows.simulation import chosen_schedulers
from nona.scenario.file import load_scenario
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import scenario_path
from tests.cli.calling import answer
from tests.core.filled import filled

SOURCES = Sources(scenario_path(SCENARIO).parent)


@pytest.mark.verify
def test_a_cheap_point_computed_anew_lies_within_its_stored_interval():
    data = stored_result(PaperStudy)
    report, value = data.sweeps["traffic"], 0.3
    scenario = with_value(paper_scenario(data.seed), LINK, value)
    study = prepare(scenario, SOURCES)
    chosen = [c for c in chosen_schedulers(study, place(study)) if c[0].name in ("nona", "local")]
    runs = run_replications(study.system, chosen, RunOptions(jobs=data.jobs), 3)
    means = {n: [float(r.completion_time_s.mean()) for r in records] for n, records in runs.items()}
    stored = {n: next(p for p in report.schedulers[n].points if p.value == value) for n in ("nona", "local")}
    for name, point in stored.items():
        low, high = point.jct_s.ci95
        margin = 0.5 * (high - low)  # three runs of eight: their mean strays further than that of all
        assert low - margin <= sum(means[name]) / 3 <= high + margin
    found, (low, high) = paired_ratio(means["local"], means["nona"]), stored["local"].ratio.ci95
    assert found.low <= high
    assert found.high >= low


def test_edges_are_where_the_link_is_full():
    """Spread's edge in the simulation is where its own messages and the background fill the link."""
    data = stored_result(PaperStudy)
    system = prepare(with_value(paper_scenario(), LINK, 0.0), SOURCES).system
    own = predict(system, spread_placement(system).queries).network_utilization
    assert paper.edge_of(data.sweeps["traffic"].schedulers["spread"]) == pytest.approx(1 - own, abs=0.01)
    row = next(r for r in data.reach if r.scheduler == "spread")
    assert row.edge == pytest.approx(1 - own, rel=1e-6)


def some(scenario, names):
    chosen = tuple(s for s in scenario.schedulers if s.name in names.split())
    return scenario.model_copy(update={"schedulers": chosen})


def test_the_reach_of_the_claim_solves_its_own_equation():
    (row,) = reach(some(paper_scenario(), "spread"), SOURCES, 20.0)
    assert row.scheduler == "spread"
    assert row.ratio == pytest.approx(20.0, rel=1e-6)
    assert row.at == pytest.approx(row.edge - row.room)
    system = prepare(with_value(paper_scenario(), LINK, row.at), SOURCES).system
    there = predict(system, spread_placement(system).queries)
    assert there.jct_s == pytest.approx(row.jct_s, rel=1e-4)
    assert there.network_wait_s == pytest.approx(row.link_wait_s, rel=1e-4)
    assert row.relaxation_s == pytest.approx(4 * row.link_wait_s / row.room, rel=1e-3)


@pytest.mark.verify
def test_in_overload_the_ratio_grows_with_the_run_unless_the_scheduler_reacts():
    scenario = some(with_value(paper_scenario(), LINK, 0.95), "nona local spread random expert spark-fair")
    of = {r.scheduler: r for r in growth(scenario, SOURCES, (300, 1200, 3600), CLAIM)}
    assert {"spread", "random", "expert"} <= set(of)
    assert not {"nona", "local"} & set(of)
    assert paper.grows(of["spread"])
    increasing = [r.ratio for r in of["spread"].runs]
    assert increasing == sorted(increasing)
    if "spark-fair" in of:
        assert not paper.grows(of["spark-fair"])


def test_a_ratio_grows_where_it_follows_the_number_of_jobs():
    def made(*ratios):
        pairs = zip((10, 100), ratios, strict=False)
        return filled(
            Growth, runs=tuple(filled(OverloadRun, jobs=jobs, ratio=ratio) for jobs, ratio in pairs)
        )

    assert paper.grows(made(2.0, 15.0))
    assert not paper.grows(made(2.0, 2.1))
    assert not paper.grows(made(2.0))
    assert paper.jobs_for(made(2.0, 20.0), 350.0) == 1750.0
    assert paper.jobs_for(made(2.0, 2.1), 350.0) is None


@pytest.mark.verify
def test_the_command_runs_a_small_study(capsys, tmp_path, monkeypatch):
    def small(settings, **how):
        values = {"traffic": (0.7,), "compute": (0.3,)}  # one value each: no edges between
        return paper_study(replace(settings, lengths=(100, 200), values=values))

    def by_formula(seed=None):
        """Without a search, the scenario's own schedulers and one of another kind."""
        every, own = paper_scenario(seed), load_scenario(scenario_path(SCENARIO)).schedulers
        other = next(s for s in every.schedulers if get_scheduler(s.name).kind == "allocate")
        return every.model_copy(update={"objective": "formula", "schedulers": (*own, other)})

    monkeypatch.setattr("evidence.paper.paper_study", small)
    monkeypatch.setattr("evidence.paper.paper_scenario", by_formula)
    where = tmp_path / "points.csv"
    words = "study paper --jobs 100 --replications 2 --seed 5 --csv"
    told = answer(capsys, *words.split(), where)
    assert told["seed"] == 5
    assert told["command"] == "nona study paper --json --jobs 100 --replications 2 --seed 5"
    assert told["sweeps"]["traffic"]["values"] == [0.7]
    assert told["sweeps"]["traffic"]["schedulers"]["spread"]["points"][-1]["state"] == "overloaded"
    assert all(math.isfinite(r["jobs"]) for r in told["reach"])
    data = PaperStudy.from_json(told)
    assert data.to_json() == told
    assert len(where.read_text().splitlines()) == 1 + len(paper.points(data))
    assert paper.presented(data).text().startswith(paper.title(data))
