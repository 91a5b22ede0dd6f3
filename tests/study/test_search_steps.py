"""The steps of a search: all by the same sampled jobs, never worse than before, a bound once there is one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from nona.placement.fixed import local_placement, spread_placement
from nona.placement.result import Placement
from nona.placement.sampled.judge import by_response, certificate_of
from nona.placement.solve import solve
from nona.scenario.file import load_scenario
from nona.sources.samples import scenario_path
from nona.study.placing import SearchSteps
from nona.study.preparation import prepare
from nona.system import System


@pytest.fixture(scope="module")
def system() -> System:
    return prepare(load_scenario(scenario_path("rag_pipeline"))).system


def found(placement: Placement, origin: str) -> Placement:
    """As a search hands it out: judged, with a name, by samples of its own."""
    return replace(placement, formula=certificate_of(placement), origin=origin, objective_s=1e-9)


def test_steps_are_judged_by_the_samples_of_the_report(system: System) -> None:
    ticks = iter(range(100))
    taken = SearchSteps(system, clock=lambda: float(next(ticks)))
    spread, local, best = spread_placement(system), local_placement(system), solve(system)
    assert taken.take(found(spread, "spread"))
    assert taken.take(found(local, "local"))
    assert not taken.take(found(spread, "spread")), "what is worse is no step"
    assert all(s.gap is None for s in taken.steps)
    assert taken.take(found(best, "formula"))
    wanted = [by_response(system, p).objective_s for p in (spread, local, best)]
    assert [s.objective_s for s in taken.steps] == wanted
    assert wanted == sorted(wanted, reverse=True)
    assert [s.elapsed_s for s in taken.steps] == [1.0, 2.0, 3.0]
    assert [s.origin for s in taken.steps] == ["spread", "local", "formula"]
    last = taken.steps[-1]
    assert last.objective_s is not None
    assert last.lower_bound_s == min(best.lower_bound_s, last.objective_s)
    assert last.gap == pytest.approx((last.objective_s - last.lower_bound_s) / last.objective_s)


def test_a_worse_optimum_brings_its_bound_to_the_best_so_far(system: System) -> None:
    """The formula's optimum may be slower than local when jobs are sampled: its bound counts all the same."""
    taken = SearchSteps(system)
    best, slow = solve(system), spread_placement(system)
    taken.take(found(best, "local"))
    unbounded = taken.best
    assert unbounded is not None
    taken.best = replace(unbounded, lower_bound_s=math.nan, formula=None)
    bounded = replace(
        found(slow, "formula"), formula=certificate_of(best), global_bound_s=best.global_bound_s
    )
    assert taken.take(bounded)
    assert taken.best is not None
    assert taken.best.queries == best.queries
    assert taken.best.objective_s == unbounded.objective_s
    assert certificate_of(taken.best) == certificate_of(best)
    assert taken.steps[-1].origin == "local"
    assert taken.steps[-1].gap is not None


def test_the_result_is_the_last_step(system: System) -> None:
    taken = SearchSteps(system)
    local = by_response(system, local_placement(system))
    taken.take(found(local, "local"))
    taken.finish(local)
    assert len(taken.steps) == 1
    result = by_response(system, solve(system))
    taken.finish(result)
    assert taken.steps[-1].objective_s == result.objective_s
    assert taken.best is result
