"""Orders found fast are those of numpy's stable sorts, with ties and without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nona.placement.response.sample_paths import by_count_then, in_order

few = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 2.0, 3.0])
some = st.floats(allow_nan=False)
pairs = st.lists(st.tuples(st.integers(0, 1 << 17) | st.integers(0, 3), few | some), max_size=60)


@given(pairs)
def test_orders_are_those_of_stable_sorts(rows: list[tuple[int, float]]) -> None:
    count = np.array([c for c, _ in rows], dtype=np.int64)
    values = np.array([v for _, v in rows])
    assert in_order(values).tolist() == np.argsort(values, kind="stable").tolist()
    assert by_count_then(count, values).tolist() == np.lexsort((values, count)).tolist()


@pytest.mark.parametrize("levels", [7, 10**9])
def test_the_same_for_many(levels: int) -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(0, levels, 20_000) / 3.0
    count = rng.integers(0, 40, 20_000)
    assert np.array_equal(in_order(values), np.argsort(values, kind="stable"))
    assert np.array_equal(by_count_then(count, values), np.lexsort((values, count)))
