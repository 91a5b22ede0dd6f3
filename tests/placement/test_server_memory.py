"""Memory: weights fit where a model may run, whatever the sizes; what does not fit says so."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placement_helpers import query, system
from sizes import examples

from nona.errors import PlacementError
from nona.placement.capacity import allowed_classes, default_shares, loads_of, replicas, resident_bytes
from nona.placement.solve import solve
from nona.report.placements.report import memory_report, shares_report
from nona.system import System

GB = 1e9


def models(sizes: list[float], memory: list[float], rates: list[float] | None = None) -> System:
    """Single-task models of these weights on classes of this memory, two servers each, equally quick."""
    rates = rates or [10.0] * len(sizes)
    queries = [
        replace(
            query([0.002 * (j + 1)], [], rate, classes=[1.0] * len(memory)), name=f"m{j}", weight_bytes=size
        )
        for j, (size, rate) in enumerate(zip(sizes, rates, strict=True))
    ]
    s = system(*queries, servers=2 * len(memory), classes=len(memory))
    return replace(s, class_memory_bytes=np.array(memory))


def test_where_all_fits_nothing_is_restricted() -> None:
    s = models([1 * GB, 2 * GB], [3 * GB, 40 * GB])
    assert allowed_classes(s).all()
    assert default_shares(s) is None
    assert allowed_classes(replace(s, class_memory_bytes=None)).all()


def test_a_model_that_is_too_large_for_a_class_stays_off_it() -> None:
    s = models([1 * GB, 8 * GB], [5 * GB, 16 * GB])
    assert allowed_classes(s).tolist() == [[True, True], [False, True]]
    assert default_shares(s) == pytest.approx(np.array([[0.5, 0.5], [0.0, 1.0]]))
    found = solve(s)
    assert found.class_shares is not None
    assert found.class_shares[1, 0] == 0.0
    assert any("m1" in n and "class0" in n for n in found.notes)
    with pytest.raises(PlacementError, match=r"'m1'.*'class0'.*weights"):
        solve(s, shares=np.array([[0.5, 0.5], [0.5, 0.5]]))


@pytest.mark.parametrize(
    ("sizes", "memory", "words"),
    [
        ([1 * GB, 50 * GB], [5 * GB, 40 * GB], ("'m1'", "50 GB", "40 GB", "class1", "larger GPU")),
        ([6 * GB, 6 * GB, 6 * GB], [7 * GB, 8 * GB], ("'m", "6 GB", "18 GB", "8 GB", "fewer models")),
    ],
)
def test_what_does_not_fit_is_one_line_with_numbers_and_a_remedy(
    sizes: list[float], memory: list[float], words: tuple[str, ...]
) -> None:
    with pytest.raises(PlacementError) as error:
        solve(models(sizes, memory))
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_models_that_do_not_fit_together_are_dealt_out_by_load() -> None:
    """Two classes hold two of three models each: the busiest model gets both, alone with one other."""
    s = models([4 * GB, 4 * GB, 4 * GB], [8 * GB, 8 * GB], rates=[600.0, 50.0, 50.0])
    allowed = allowed_classes(s)
    assert allowed[0].tolist() == [True, True]
    assert allowed[1:].sum() == 2
    assert loads_of(s, allowed).least_peak()[0] == pytest.approx(
        (600 * 0.002 + 50 * 0.004 + 50 * 0.006) / 4, rel=1e-6
    )


@examples(40)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.lists(st.integers(3, 20), min_size=1, max_size=3),
    st.integers(0, 10**6),
)
def test_the_choice_is_the_best_of_all_choices(sizes: list[int], memory: list[int], seed: int) -> None:
    rates = np.random.default_rng(seed).uniform(1, 120, len(sizes)).tolist()
    s = models([float(x) for x in sizes], [float(x) for x in memory], rates)
    best = np.inf
    for flat in itertools.product([False, True], repeat=len(sizes) * len(memory)):
        mask = np.array(flat).reshape(len(sizes), len(memory))
        if mask.any(axis=1).all() and (np.array(sizes) @ mask <= memory).all():
            # not allowing more than needed never helps: keep only the masks that nothing can be added to
            room = memory - np.array(sizes) @ mask
            if any(not mask[m, k] and sizes[m] <= room[k] for m, k in np.ndindex(*mask.shape)):
                continue
            best = min(best, loads_of(s, mask).least_peak()[0])
    if not np.isfinite(best):
        with pytest.raises(PlacementError, match="take a larger GPU"):
            allowed_classes(s)
        return
    allowed = allowed_classes(s)
    assert (resident_bytes(s, allowed).sum(axis=0) <= np.array(memory) * (1 + 1e-9)).all()
    assert loads_of(s, allowed).least_peak()[0] == pytest.approx(best, abs=1e-6)


@examples(25)
@given(
    st.lists(st.floats(0.5, 9), min_size=1, max_size=4),
    st.lists(st.floats(2, 20), min_size=1, max_size=3),
    st.floats(0.05, 1.5),
    st.integers(0, 10**6),
)
def test_no_share_where_it_does_not_fit_and_every_class_is_stable(
    sizes: list[float], memory: list[float], load: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    speeds = rng.uniform(0.5, 3, (len(sizes), len(memory)))
    queries = [
        replace(
            query([0.002], [], 1.0, classes=speeds[j].tolist()),
            name=f"m{j}",
            weight_bytes=size,
            rate=load * 2 * len(memory) / len(sizes) / 0.002,
        )
        for j, size in enumerate(sizes)
    ]
    s = system(*queries, servers=2 * len(memory), classes=len(memory))
    s = replace(s, class_memory_bytes=np.array(memory))
    try:
        found = solve(s)
    except PlacementError:
        return
    shares = s.uniform_shares if found.class_shares is None else found.class_shares
    assert shares.sum(axis=1) == pytest.approx(1.0)
    for k, room in enumerate(memory):
        held = [size for j, size in enumerate(sizes) if shares[j, k] > 0]
        assert sum(held) <= room * (1 + 1e-9)
    assert all(0 <= c.utilization < 1 for c in found.prediction.classes)


def test_rows_of_one_model_share_its_weights() -> None:
    s = models([4 * GB, 4 * GB], [5 * GB])
    with pytest.raises(PlacementError, match=r"'m1'.*8 GB in all"):
        allowed_classes(s)
    shared = replace(s, queries=tuple(replace(q, replica="resnet") for q in s.queries))
    assert allowed_classes(shared).all()
    assert [r.queries for r in replicas(shared)] == [(0, 1)]


def test_many_models_are_dealt_out_by_a_search() -> None:
    sizes = [float(x) for x in np.random.default_rng(5).integers(1, 6, 15)]
    s = models(sizes, [18.0, 22.0, 25.0])
    allowed = allowed_classes(s)
    assert allowed.any(axis=1).all()
    assert (resident_bytes(s, allowed).sum(axis=0) <= [18, 22, 25]).all()
    assert loads_of(s, allowed).least_peak()[0] < 1


def test_the_report_adds_up() -> None:
    s = models([1 * GB, 8 * GB], [5 * GB, 16 * GB])
    found = solve(s)
    names = ("small", "large")
    told, shares = memory_report(s, found, names), shares_report(s, found, names)
    assert all(sum(row.values()) == pytest.approx(1) for row in shares.values())
    total = 0.0
    for row in told.classes:
        assert row.resident_bytes == sum(row.weights_bytes.values())
        assert row.memory_bytes is not None
        assert row.free_bytes == row.memory_bytes - row.resident_bytes >= 0
        assert set(row.weights_bytes) == {n for n in names if shares[n][row.executor_class] > 0}
        total += row.executors * row.resident_bytes
    assert told.replicas_bytes == pytest.approx(total)
    assert told.models["large"].replicas == 2
