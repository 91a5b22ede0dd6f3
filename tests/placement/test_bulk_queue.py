"""Executors that batch: the loop by hand."""

import pytest
from batch_loop import Key, run

SIX = [(float(t), 0) for t in range(6)]  # ms


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
