"""Short simulations before a study: what they chose is kept with the system and its placement."""

import pytest
from sizes import sized

from nona.queries.workflows import race
from nona.queries.workflows.cache import PreparationCache
from nona.queries.workflows.placements import place
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import simulate
from nona.scenario.file import scenario_from_mapping
from nona.scenario.sample_files import shipped_scenario


@pytest.fixture
def short_runs(monkeypatch):
    """The systems of which short runs were made."""
    made, run = [], race.job_times

    def noted(system, scheduler, *others):
        if scheduler.name == "nona-live":
            made.append(system)
        return run(system, scheduler, *others)

    monkeypatch.setattr(race, "job_times", noted)
    monkeypatch.setattr(race, "EVENTS", sized(4_000, race.EVENTS))
    return made


def scenario(seed, **options):
    example = shipped_scenario("slides_example").model_dump(mode="json")
    return example | {
        "seed": seed,
        "objective": "formula",
        "schedulers": [{"name": "nona-live", "options": options}],
        "simulation": {"jobs": 200, "replications": 2},
    }


@pytest.mark.verify
@pytest.mark.sized
def test_a_system_is_rehearsed_once_and_results_are_those_of_a_fresh_one(short_runs):
    cache, means = PreparationCache(), []
    for seed, options, fresh in ((1, {}, True), (1, {}, False), (2, {}, True), (1, {"link": "none"}, True)):
        study = prepare(scenario_from_mapping(scenario(seed, **options)), cache=cache)
        short_runs.clear()
        result = simulate(study, placement=place(study, cache=cache), cache=cache)
        assert bool(short_runs) is fresh
        means.append(result.summaries["nona-live"].result.jct_s.mean)
    assert means[0] == means[1]
    alone = prepare(scenario_from_mapping(scenario(1)))
    assert simulate(alone).summaries["nona-live"].result.jct_s.mean == means[0]
