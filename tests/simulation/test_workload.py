"""The workload: merged arrivals, and draws that depend on names only."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from simulation_cases import make_system, query, task_graph

from nona.errors import SimulationError
from nona.random_streams import RandomStreams
from nona.simulation.workload import Workload, background_items, gamma_draws, stream_names
from nona.system import Arrivals, QueryClass, Stream

ONE = task_graph([1.0])
TWO = task_graph([1.0, 2.0])


def rows(*queries: QueryClass, uniforms: int = 0, chunks: int = 6) -> list[tuple]:
    out: list[tuple] = []
    for c in islice(Workload(make_system(*queries), 0, uniforms).chunks(), chunks):
        out += [(*row[:3], row[3].tolist()) for row in c.rows([len(q.tasks) for q in queries])]
    return out


def test_classes_are_merged_in_order_of_time_then_class() -> None:
    slow, fast = query(ONE, 1.0, name="slow"), query(ONE, 30.0, name="fast")
    merged = rows(slow, fast)
    keys = [(t, q) for t, q, _, _ in merged]
    assert keys == sorted(keys)
    share = np.mean([q == 0 for _, q in keys])
    assert share == pytest.approx(1 / 31, abs=5 * (1 / 31 / len(keys)) ** 0.5)


def test_equal_instants_of_two_classes_go_by_class() -> None:
    grid = Arrivals("trace", times_s=(0.0, 0.0, 1.0), scale_to_rate=False)
    merged = rows(query(ONE, arrivals=grid, name="a"), query(ONE, arrivals=grid, name="b"))
    assert [q for t, q, _, _ in merged if t == 0] == [0, 0, 1, 1]


def test_draws_of_a_class_do_not_change_when_another_joins() -> None:
    a, b = query(TWO, 2.0, scv=0.5, name="a"), query(TWO, 5.0, scv=2.0, name="b")
    alone, together = rows(a), [r for r in rows(b, a) if r[1] == 1]
    n = min(len(alone), len(together))
    assert n > 500
    assert [(r[0], r[2]) for r in alone[:n]] == [(r[0], r[2]) for r in together[:n]]


def test_chunks_hold_the_multipliers_of_their_jobs_and_nothing_else() -> None:
    a, b = query(TWO, 2.0, scv=0.5, name="a"), query(ONE, 5.0, name="b")
    chunk = next(Workload(make_system(a, b), 0).chunks())
    drawn = chunk.query == 0
    assert (chunk.offsets[~drawn] == -1).all()
    assert np.array_equal(np.sort(chunk.offsets[drawn]), np.arange(0, len(chunk.services), 2))
    assert len(chunk.services) == 2 * drawn.sum() > 0


def test_uniforms_of_a_job_do_not_depend_on_how_many_are_used() -> None:
    q = query(ONE, 1.0)
    few, many = rows(q, uniforms=3), rows(q, uniforms=40)
    assert [r[3] for r in few] == [r[3][:3] for r in many]
    assert np.mean([r[3] for r in many]) == pytest.approx(0.5, abs=0.005)


def test_services_have_mean_one_and_the_scv() -> None:
    services = np.array([r[2] for r in rows(query(TWO, 1.0, scv=0.5), chunks=40)])
    assert services.shape[1] == 2
    assert services.mean() == pytest.approx(1, abs=5 * (0.5 / services.size) ** 0.5)
    assert services.var() == pytest.approx(0.5, rel=0.05)
    assert rows(query(TWO, 1.0))[0][2] is None


@pytest.mark.parametrize("scv", [0.0, 0.3, 1.0, 4.0])
def test_background_has_its_rate_and_moments(scv: float) -> None:
    stream = Stream(rate=20.0, mean=3.0, scv=scv)
    items = np.array(list(islice(background_items(stream, RandomStreams(1), "x"), 50_000)))
    assert len(items) / items[-1, 0] == pytest.approx(20.0, rel=0.025)
    assert items[:, 1].mean() == pytest.approx(3.0, rel=5 * (scv / len(items)) ** 0.5 + 1e-12)
    assert items[:, 1].var() == pytest.approx(9.0 * scv, rel=0.1, abs=1e-12)
    assert gamma_draws(np.random.default_rng(0), scv, 3).shape == (3,)


def test_no_background_ends_at_once() -> None:
    assert list(background_items(Stream(), RandomStreams(1), "x")) == []


def test_names_of_streams_are_unique() -> None:
    queries = tuple(query(ONE, name=n) for n in ("a", "b", "a"))
    assert stream_names(queries) == ("a", "b", "a#1")


def test_a_class_without_rate_never_arrives_and_all_without_is_an_error() -> None:
    assert {q for _, q, _, _ in rows(query(ONE, 0.0, name="never"), query(ONE, 1.0))} == {1}
    with pytest.raises(SimulationError, match="no query class has a rate"):
        Workload(make_system(query(ONE, 0.0)), 0)


def test_negative_scv_is_named() -> None:
    with pytest.raises(SimulationError, match="service_scv=-1"):
        Workload(make_system(query(ONE, 1.0, scv=-1.0)), 0)
