"""Random streams: named, independent, the same everywhere."""

import os
import subprocess
import sys

import numpy as np

from nona.random_streams import RandomStreams

DRAW = (
    "from nona.random_streams import RandomStreams as R; print(R(3, 1).generator('a', 'b').integers(2**62))"
)


def test_order_of_creation_does_not_matter():
    first = RandomStreams(5)
    a1, b1 = first.generator("a").random(4), first.generator("b").random(4)
    second = RandomStreams(5)
    b2, a2 = second.generator("b").random(4), second.generator("a").random(4)
    assert np.array_equal(a1, a2)
    assert np.array_equal(b1, b2)


def test_names_do_not_run_together():
    streams = RandomStreams(5)
    assert streams.generator("ab", "c").random() != streams.generator("a", "bc").random()


def test_streams_are_uncorrelated():
    """Correlation of n independent pairs has standard deviation 1/√n: 5 of them is one in a million."""
    n = 20_000
    x = RandomStreams(1).generator("x").random(n)
    for other in (
        RandomStreams(1).generator("y"),
        RandomStreams(2).generator("x"),
        RandomStreams(1, 1).generator("x"),
    ):
        assert abs(np.corrcoef(x, other.random(n))[0, 1]) < 5 / np.sqrt(n)


def test_same_in_every_process():
    values = {
        subprocess.run(
            [sys.executable, "-c", DRAW],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert values == {f"{RandomStreams(3, 1).generator('a', 'b').integers(2**62)}\n"}
