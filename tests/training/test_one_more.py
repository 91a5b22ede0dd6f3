"""A cluster with one more GPU: it stands in a region where there are regions, and is simulated."""

from __future__ import annotations

import pytest

from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.study.training.run import one_more_gpu, with_one_more


def cluster(regions: bool) -> Scenario:
    """Two groups of each of two types, in two regions if asked for."""
    servers = [{"count": 1, "gpu": gpu} for gpu in ("k80", "v100", "k80")]
    return scenario_from_mapping(
        {
            "cluster": {"servers": servers},
            "workload": [],
            "simulation": {"replications": 1},
            "training": {
                "jobs": [{"name": f"job {i}", "model": "A3C", "steps": 1e4} for i in range(4)],
                **({"regions": {"groups": {"west": [0], "east": [1, 2]}}} if regions else {}),
            },
        }
    )


@pytest.mark.parametrize(("gpu", "home"), [("k80", "west"), ("v100", "east")])
def test_the_new_server_stands_in_the_first_region_of_its_type(gpu: str, home: str) -> None:
    larger = with_one_more(cluster(regions=True), gpu)
    assert larger.training is not None
    assert larger.training.regions is not None
    places = {number: name for name, held in larger.training.regions.groups.items() for number in held}
    assert sorted(places) == [0, 1, 2, 3]
    assert places[3] == home
    assert larger.cluster.servers[3].gpu == gpu


@pytest.mark.parametrize("regions", [False, True])
def test_every_larger_cluster_is_simulated(regions: bool) -> None:
    report = one_more_gpu(cluster(regions), "fifo")
    assert [row.gpu for row in report.rows] == ["k80", "v100"]
    assert all(row.makespan_s <= report.base.makespan_s for row in report.rows)
