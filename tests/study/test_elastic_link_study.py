"""The shipped study of elastic jobs on a link: points recomputed, ratios, text and chart."""

from __future__ import annotations

import numpy as np
import pytest

from nona.errors import SimulationError
from nona.report.studies.elastic import (
    NO_LINK,
    SEEING,
    cost_of,
    cost_rows,
    link_name,
    link_rows,
    link_study_text,
    link_title,
    links_of,
    workload_means,
)
from nona.report.studies.policy_figures import link_figure
from nona.study.shipped import shipped_elastic, shipped_elastic_link
from nona.study.training.elastic import simulate_elastic_jobs
from nona.study.training.elastic_study import WAYS, ElasticLinkSettings, elastic_link_study, request_of
from nona.study.training.elastic_study import LinkPlace as Place
from nona.study.training.elastic_study import link_places_of as places_of


@pytest.mark.parametrize("place", [Place("tiresias", 1.25e9), Place("sjf", 0.0)])
def test_recomputing_a_point_gives_the_stored_value(place: Place) -> None:
    stored = shipped_elastic_link()
    point = next(p for p in stored.points if (p.name, p.capacity or 0.0) == place)
    request = request_of(ElasticLinkSettings(seed=stored.seed), place, 3)
    found = simulate_elastic_jobs(request).report.policies[point.policy]
    assert found.jct_s.mean == pytest.approx(point.jcts_s[stored.workloads.index(3)][0], rel=1e-9)


def test_the_stored_study_is_whole_and_its_runs_without_a_link_are_those_of_the_other_study() -> None:
    stored, other = shipped_elastic_link(), shipped_elastic()
    assert [(p.name, p.capacity or 0.0) for p in stored.points] == places_of(ElasticLinkSettings())
    assert stored.failed_checks == ()
    for point in stored.points:
        assert len(point.jcts_s) == len(stored.workloads)
        assert all((share > 0) == (point.capacity is not None) for share in point.link_share)
    for name in ("optimus", "tiresias", "sjf", "fifo", "pollux"):
        point = next(p for p in stored.points if p.name == name and p.capacity is None)
        same = next(
            p for p in other.points if (p.policy, p.load, p.interference) == (name, 1.0, 0.0) and p.avoid
        )
        assert workload_means(point) == pytest.approx([np.mean(runs) for runs in same.jcts_s], rel=0.02)


def test_a_slower_link_never_makes_a_mean_shorter() -> None:
    """A policy that does not see the link decides alike, and every step takes at least as long."""
    stored = shipped_elastic_link()
    for name in WAYS:
        by_link = [np.mean(workload_means(p)) for p in stored.points if p.name == name]
        assert by_link == sorted(by_link)


def test_text_and_chart_show_every_policy_and_link() -> None:
    stored = shipped_elastic_link()
    text, links = link_study_text(stored), links_of(stored)
    assert [trace.name for trace in link_figure(stored).data] == links
    assert all(set(trace.y) == set(WAYS) for trace in link_figure(stored).data)
    assert [row["policy"] for row in link_rows(stored)] == list(WAYS)
    assert len(cost_rows(stored)) == len(WAYS) * (len(links) - 1)
    assert all(name in text for name in WAYS)
    blind = {link_name(p): np.mean(workload_means(p)) for p in stored.points if p.name == "optimus"}
    for link in links[1:]:
        assert f"{100 * (blind[link] / blind[NO_LINK] - 1):+.0f} %" in link_title(stored)
        assert cost_of(stored, link, SEEING, (SEEING, link)).value == 1.0


def test_a_small_study_names_its_command_and_what_it_does_not_know_is_refused() -> None:
    chosen = ElasticLinkSettings(
        workloads=(3,), capacities=(2.5e9,), background=0.3, policies=("sjf",), seed=4
    )
    found = elastic_link_study(chosen)
    assert found.command == (
        "nona study elastic-link --json --workload 3 --capacity '20 Gbit/s' --policy sjf "
        "--background 0.3 --seed 4"
    )
    assert [(p.name, p.capacity) for p in found.points] == [("sjf", None), ("sjf", 2.5e9)]
    assert link_title(found) == ""  # Optimus was not run
    with pytest.raises(SimulationError, match=r"workloads=\[5\] must be among"):
        ElasticLinkSettings(workloads=(5,))
    with pytest.raises(SimulationError, match="replications=0"):
        ElasticLinkSettings(replications=0)
