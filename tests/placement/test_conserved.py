"""The floor of conserved work: exact for M/G/1 queues, and below what is simulated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from placement_helpers import query, random_system, system

from nona.placement.fixed import local_placement, spread_placement
from nona.placement.messages import Candidates
from nona.placement.model import build_model
from nona.placement.prediction import predict
from nona.placement.response.equilibrium import predict_response
from nona.placement.result import SubGraphPlacement
from nona.placement.sampled.judge import conserved_floor_s
from nona.placement.solver.solution import placements
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling_tables import build_tables
from nona.simulation.run import RunOptions, simulate_run
from nona.study.placing import place_system
from nona.system import Arrivals, Stream, System


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


def simulated_s(made: System, placed: tuple[tuple[SubGraphPlacement, ...], ...]) -> tuple[float, float]:
    """Mean completion time and its standard error."""
    tables, scheduler = build_tables(made, placed), get_scheduler("nona")
    runs = [
        simulate_run(made, scheduler, tables, RunOptions(jobs=4000, replication=r)).completion_time_s
        for r in range(4)
    ]
    means = np.array([np.nanmean(r) for r in runs])
    return float(means.mean()), float(means.std(ddof=1) / 2.0)


@pytest.mark.parametrize("scv", [0.0, 0.7])
@pytest.mark.parametrize("background", [Stream(), Stream(0.2, 0.5, 2.0)])
def test_a_query_of_one_task_is_an_m_g_1_queue(scv: float, background: Stream) -> None:
    made = system(query([2.0], [], 1.0, service_scv=scv), servers=4, compute=background)
    placed = local_placement(made).queries
    assert conserved_floor_s(made, placed) == pytest.approx(predict(made, placed).jct_s)


def test_all_on_one_server_is_an_m_g_1_queue() -> None:
    """Tasks beside each other, in sub-graphs one after the other: one visit of a job to its executor."""
    diamonds = [(0, 1, 1.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 1.0), (3, 4, 1.0), (3, 5, 1.0), (4, 6, 1.0)]
    made = system(query([0.1, 1.0, 2.0, 0.2, 1.0, 0.5, 0.3], [*diamonds, (5, 6, 1.0)], 1.0), servers=8)
    placed = local_placement(made).queries
    assert conserved_floor_s(made, placed) == pytest.approx(predict(made, placed).jct_s)
    assert conserved_floor_s(made) <= conserved_floor_s(made, placed)


@pytest.mark.parametrize("servers", [2, 8])
@pytest.mark.parametrize("load", [0.4, 0.8])
def test_no_simulation_is_below_it(servers: int, load: float) -> None:
    for seed in range(3):
        made = random_system(seed, capacity=2e4, load=load, servers=servers)
        for placed in (local_placement(made).queries, spread_placement(made).queries):
            mean, error = simulated_s(made, placed)
            assert conserved_floor_s(made) <= mean + 4.0 * error
            assert conserved_floor_s(made, placed) <= mean + 4.0 * error


def test_it_tells_where_a_response_is_too_low() -> None:
    """A long visit after a short one: the usual response lies below what conserved work demands."""
    made = late_input(0.8)
    placed = source_away(made)
    floor = conserved_floor_s(made, placed)
    assert predict_response(made, placed).mix.mean_s < floor
    mean, error = simulated_s(made, placed)
    assert floor <= mean + 4.0 * error


def test_the_default_placement_is_not_misled_by_such_a_response() -> None:
    """Sampled jobs prefer to send the source away; simulated beside it, local is quicker, and is chosen."""
    made = late_input(0.8)
    assert predict_response(made, source_away(made)).mix.mean_s < local_placement(made).objective_s
    mean, error = simulated_s(made, place_system(made).queries)
    local, local_error = simulated_s(made, local_placement(made).queries)
    assert mean <= local + 3.0 * (error + local_error)


def test_without_poisson_arrivals_only_the_longest_chain_counts() -> None:
    busy = query([1.0, 3.0, 2.0], [(0, 2, 1.0)], 1.0)
    assert conserved_floor_s(system(replace(busy, arrivals=Arrivals("gamma", cv=2.0)))) == 3.0
    assert conserved_floor_s(system(replace(busy, rate=0.0))) == 0.0
