"""Executors that batch: the loop by hand, theory by published numbers, by limits and by the loop."""

import math

import numpy as np
import pytest
from batch_loop import Key, run
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples, sized

from evidence.bulk_queue import bulk_queue, memoryless_batches, unlimited_bound_s
from nona.core.errors import PlacementError

SIX = [(float(t), 0) for t in range(6)]  # ms
V100 = tuple(1.8874 + 0.1438 * b for b in range(1, 401))  # ms of ResNet-50


@pytest.mark.parametrize(
    ("key", "starts"),
    [
        (Key((10.0,) * 4), [(0, 1), (10, 4), (20, 1)]),
        (Key((10.0,) * 4, "delay", 8.0), [(3, 4), (13, 2)]),
        (Key((10.0,) * 8, "delay", 8.0), [(8, 6)]),
        (Key((10.0,) * 4, "static"), [(3, 4)]),
        (Key((10.0,) * 8, "triton", 8.0, (4,)), [(3, 4), (13, 2)]),
        (Key((10.0,) * 8, "triton", 0.0, (2,)), [(0, 1), (10, 2), (20, 2), (30, 1)]),
        (Key((10.0,) * 8, "triton", 0.0, (2,), 1), [(0, 1), (10, 2), (20, 2), (30, 1)]),
        (Key((10.0,) * 8, "triton", 0.0, (), 2), [(0, 1), (10, 5)]),
    ],
)
def test_batches_by_hand(key, starts):
    assert [(s.start_s, len(s.members)) for s in run(SIX, [key])] == starts


def test_several_keys_and_background_start_in_the_order_of_their_heads():
    arrivals = [(0.0, 0), (1.0, 1), (2.0, 0), (3.0, 1), (4.0, 0)]
    steps = run(arrivals, [Key((10.0, 12.0)), Key((5.0, 6.0))], background=[(1.5, 7.0)])
    assert [(s.start_s, s.key, s.members) for s in steps] == [
        (0.0, 0, (0,)),
        (10.0, 1, (1, 3)),
        (16.0, -1, (0,)),
        (23.0, 0, (2, 4)),
    ]


@pytest.mark.parametrize(
    ("size", "rate", "idle", "time_s"),
    [
        (1, 0.8, 0.2, 5.0),
        (2, 1.6, 0.080382, 4.534993),
        (4, 3.2, 0.026555, 4.180619),
        (8, 2.0, 0.139205, 1.900322),
        (8, 6.4, 0.007725, 3.956710),
    ],
)
def test_exponential_steps(size, rate, idle, time_s):
    assert memoryless_batches(rate, size, 1.0) == pytest.approx((time_s, idle), abs=1e-6)
    chain = bulk_queue(rate, (1.0,) * size, scv=1.0)
    assert (chain.time_s, 1 - chain.busy) == pytest.approx((time_s, idle), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("step_s", "rate", "time_s", "batch", "busy"),
    [
        ((1.0,), 0.8, 3.0, 1.0, 0.8),
        ((1.0,) * 2, 1.6, 2.319265, 1.701898, 0.940127),
        ((1.0,) * 4, 3.2, 1.879536, 3.223862, 0.992598),
        ((1.0,) * 8, 6.4, 1.651838, 6.401137, 0.999822),
        (V100[:4], 1.0, 3.56884, 2.32215, 0.95658),
        (V100[:8], 2.0, 4.30672, 5.30662, 0.99894),
        (V100[:8], 2.5, 7.40193, 7.36753, 0.99995),
        (V100[:32], 4.0, 6.94485, 17.7721, 1.0),
    ],
)
def test_fixed_steps(step_s, rate, time_s, batch, busy):
    queue = bulk_queue(rate, step_s)
    assert (queue.time_s, queue.busy) == pytest.approx((time_s, busy), abs=5e-6)
    assert queue.batch == pytest.approx(batch, abs=5e-5)
    members = np.arange(1, len(step_s) + 1)
    moments = [queue.sizes @ members**k for k in range(2)]
    assert moments == pytest.approx([1.0, queue.batch])


@pytest.mark.parametrize(
    ("fixed_s", "each_s", "rate", "exact", "bound"),
    [
        (1.8874, 0.1438, 0.5, 2.92633, 3.20017),
        (1.8874, 0.1438, 1.0, 3.40534, 3.46398),
        (1.8874, 0.1438, 2.0, 4.15146, 4.15334),
        (1.8874, 0.1438, 4.0, 6.94125, 6.94125),
        (1.8874, 0.1438, 6.0, 21.44022, 21.44022),
        (1.0, 1.0, 0.1, 2.24128, 2.24242),
        (1.0, 1.0, 0.3, 3.01498, 3.05495),
        (1.0, 1.0, 0.5, 4.41736, 4.66667),
        (1.0, 1.0, 0.7, 7.53875, 7.64706),
        (1.0, 1.0, 0.9, 22.61699, 22.63158),
    ],
)
def test_unlimited_batches(fixed_s, each_s, rate, exact, bound):
    queue = bulk_queue(rate, tuple(fixed_s + each_s * b for b in range(1, 401)))
    assert (queue.time_s, unlimited_bound_s(rate, fixed_s, each_s)) == pytest.approx((exact, bound), abs=6e-6)


@given(st.floats(0.05, 0.8), st.floats(0.0, 20.0), st.floats(1e-3, 10.0))
@examples(50)
def test_the_bound_is_one(load, fixed, each_s):
    fixed_s = fixed * each_s
    queue = bulk_queue(load / each_s, tuple(fixed_s + each_s * b for b in range(1, 201)))
    assert queue.time_s <= unlimited_bound_s(load / each_s, fixed_s, each_s) * (1 + 1e-9)
    assert unlimited_bound_s(1.01 / each_s, fixed_s, each_s) == math.inf


@pytest.mark.parametrize(
    ("rate", "delay_s", "size", "wait_s", "batch"),
    [(5.0, 0.2, 64, 0.15, 2.0), (20.0, 0.1, 4, 0.054325, 2.781982), (100.0, 0.05, 8, 0.026538, 5.744519)],
)
def test_a_delay_where_an_executor_is_free(rate, delay_s, size, wait_s, batch):
    queue = bulk_queue(rate, (1e-9,) * size, delay_s)
    assert (queue.wait_s, queue.batch) == pytest.approx((wait_s, batch), abs=1e-6)


@given(st.floats(0.05, 0.999), st.sampled_from([0.0, 0.3, 1.0, 2.0]), st.floats(1e-3, 1e3))
@examples(50)
def test_one_at_a_time_is_pollaczek_khinchine(load, scv, step_s):
    queue = bulk_queue(load / step_s, (step_s,), scv=scv)
    assert queue.wait_s == pytest.approx(step_s * load * (1 + scv) / (2 * (1 - load)), rel=1e-4)
    assert queue.busy == pytest.approx(load)


@given(st.floats(0.05, 0.9), st.integers(1, 16), st.floats(0.0, 3.0), st.floats(0.0, 1.0))
@examples(50)
def test_more_load_and_longer_delays_fill_steps(load, size, fixed_s, delay_share):
    """The wait grows with the load where nobody waits for others; with s fixed it falls as B grows."""
    step_s = tuple(fixed_s + b for b in range(1, size + 1))
    most, delay_s = size / step_s[-1], delay_share * step_s[-1]
    less, more = bulk_queue(load * most, step_s), bulk_queue(1.05 * load * most, step_s)
    late = bulk_queue(load * most, step_s, delay_s)
    alike, wider = bulk_queue(load, (1.0,) * size), bulk_queue(load, (1.0,) * (size + 1))
    small = [less.time_s, less.batch, less.batch, late.busy, wider.time_s]
    large = [more.time_s, more.batch, late.batch, less.busy, alike.time_s]
    assert (np.array(small) <= np.array(large) * (1 + 1e-9)).all()
    slower = bulk_queue(load * most / 7, tuple(7 * s for s in step_s), 7 * delay_s)
    assert slower.time_s == pytest.approx(7 * late.time_s)


@pytest.mark.parametrize(("load", "size"), [(0.5, 256), (0.95, 1024), (0.999, 256)])
def test_large_steps_close_to_capacity(load, size):
    """A task waits for half a step and is in one; what is left behind adds little if steps are large."""
    queue = bulk_queue(load * size, (1.0,) * size)
    assert (queue.busy, queue.batch) == pytest.approx((1.0, load * size))
    kingman_s = 1 / (2 * size * (1 - load))  # the bound of the walk
    assert 1.5 * (1 - 1e-6) <= queue.time_s <= 1.5 + kingman_s


@pytest.mark.parametrize("rate", [-1.0, 0.0, 8.0, 9.0, math.nan])
def test_rates_that_steps_do_not_carry(rate):
    with pytest.raises(PlacementError, match="must be above 0 and below 8 /s"):
        bulk_queue(rate, (1.0,) * 8)


@pytest.mark.parametrize(
    ("key", "load", "scv", "error"),
    [
        (Key(V100[:8]), 0.7, 0.0, 0.0),
        (Key(V100[:8]), 0.7, 0.5, 0.0),
        (Key(V100[:4]), 0.9, 0.0, 0.0),
        (Key(V100[:8], "delay", 1.0), 0.3, 0.0, 0.0),
        (Key(V100[:8], "delay", 3.0), 0.85, 0.0, 0.0),
        (Key(V100[:8], "delay", 12.0), 0.7, 0.0, 0.03),
        (Key(V100[:8], "delay", 1.0), 0.7, 0.5, 0.02),
        (Key(V100[:8], "static"), 0.6, 0.0, 0.0),
    ],
)
def test_theory_against_the_loop(key, load, scv, error):
    rate, number = load * len(key.step_s) / key.step_s[-1], sized(40_000, 400_000)
    rng = np.random.default_rng(3)
    arrivals = [(t, 0) for t in np.cumsum(rng.exponential(1 / rate, number)).tolist()]
    draws = iter(rng.gamma(1 / scv, scv, number).tolist()) if scv else None
    steps = run(arrivals, [key], draws=draws)
    queue = bulk_queue(rate, key.step_s, math.inf if key.rule == "static" else key.delay_s, scv)
    times = [s.end_s - arrivals[i][0] for s in steps for i in s.members]
    for values, expected in ((times, queue.time_s), ([len(s.members) for s in steps], queue.batch)):
        parts = [np.mean(part) for part in np.array_split(values, 20)]
        half = 3.6 * np.std(parts, ddof=1) / math.sqrt(len(parts))
        assert np.mean(parts) == pytest.approx(expected, abs=half + error * expected)


@pytest.mark.parametrize("size", [8, 16, 32])
def test_sizes_are_probabilities_where_large_ones_hardly_ever_occur(size):
    sizes = bulk_queue(0.15 / (18.0 + 7.2 * size) * size, tuple(18.0 + 7.2 * np.arange(size))).sizes
    assert (sizes >= 0).all()
    assert sizes.sum() == pytest.approx(1.0)
