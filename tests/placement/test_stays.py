"""The response by stays: right where long visits follow short ones, and the same where nothing comes back."""

from __future__ import annotations

import numpy as np
import pytest
from placement_helpers import query, system

from nona.placement.assemble import placements
from nona.placement.evaluate import Candidates
from nona.placement.fixed import local_placement
from nona.placement.model import build_model
from nona.placement.placement import SubGraphPlacement
from nona.placement.response import predict_response
from nona.placement.response.stays import predict_by_stays
from nona.schedulers.registry import get_scheduler
from nona.schedulers.tables import build_tables
from nona.simulation.run import RunOptions, simulate_run
from nona.system import System


def late_input(load: float) -> System:
    """A short task, then a long one that also needs what another source makes."""
    servers, times = 8, [0.01, 0.3, 2.0]
    work = query(times, [(0, 2, 1.0), (1, 2, 1.0)], load * servers / sum(times))
    return system(work, servers=servers, capacity=1e9)


def source_away(made: System) -> tuple[tuple[SubGraphPlacement, ...], ...]:
    labels = np.array([[0, 0, 0], [0, 1, 0]])

    def rows(shape: object, link: object) -> Candidates:
        return Candidates(shape, labels[:, : shape.m + 1], link)  # type: ignore[attr-defined, arg-type]

    model = build_model(made, rows)
    return placements(model, [[np.array([0.0, 1.0]) for _ in row] for row in model.candidates])


def simulated_s(made: System, placed: tuple[tuple[SubGraphPlacement, ...], ...]) -> float:
    tables, scheduler = build_tables(made, placed), get_scheduler("nona")
    runs = [simulate_run(made, scheduler, tables, RunOptions(jobs=20_000, replication=r)) for r in range(4)]
    return float(np.mean([np.nanmean(r.completion_time_s) for r in runs]))


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_a_long_visit_after_a_short_one(load: float) -> None:
    made = late_input(load)
    placed = source_away(made)
    simulated = simulated_s(made, placed)
    usual, stays = (f(made, placed).mix.mean_s for f in (predict_response, predict_by_stays))
    assert abs(stays - simulated) < abs(usual - simulated)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_a_job_that_stays_where_it_is(load: float) -> None:
    made = late_input(load)
    placed = local_placement(made).queries
    assert predict_by_stays(made, placed).mix.mean_s == pytest.approx(
        predict_response(made, placed).mix.mean_s, rel=0.06
    )
