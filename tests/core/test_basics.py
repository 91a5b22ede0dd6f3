"""Quantities that are read and refused; named random streams; the colours of the theme."""

import math
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from nona.core.random_streams import RandomStreams
from nona.core.units import parse_quantity

UNITS = [
    *(("40 ms", "time", 0.04), ("40ms", "time", 0.04), ("2 min", "time", 120), ("1 MB", "size", 1e6)),
    *(("1 MiB", "size", 2**20), ("8 kbit", "size", 1000), ("1e3", "size", 1000), ("60/min", "rate", 1)),
    *(("10 Gbps", "bandwidth", 1.25e9), ("10 GB/s", "bandwidth", 1e10), ("3 Hz", "rate", 3)),
    *((7, "rate", 7), ("25 %", "fraction", 0.25), (" -1.5e-3 ms ", "time", -1.5e-6)),
]


@pytest.mark.parametrize(("text", "dimension", "value"), UNITS)
def test_reads_units(text, dimension, value):
    assert parse_quantity(text, dimension) == pytest.approx(value, rel=1e-12)


LONG = ["9" * 50_000 + " a b", "1." + "0" * 5_000 + " ms"]  # hours; and more digits than Python converts


@pytest.mark.parametrize(
    ("dimension", "texts"),
    [
        ("time", ["", "ms", "5 MB", "5 m", *LONG]),
        ("size", ["1 mb", math.inf, "1e999", [1]]),
        ("rate", ["nan", math.nan, True, None]),
    ],
)
def test_refuses_in_one_line_at_once(dimension, texts):
    for text in texts:
        with pytest.raises(ValueError, match="write for example") as caught:
            parse_quantity(text, dimension)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500
        assert f"is not a {dimension}; " in str(caught.value) or "must be finite" in str(caught.value)


def test_random_streams_are_independent_of_the_order_of_creation():
    first, second = RandomStreams(5), RandomStreams(5)
    a1, b1 = first.generator("a").random(4), first.generator("b").random(4)
    b2, a2 = second.generator("b").random(4), second.generator("a").random(4)
    assert np.array_equal([a1, b1], [a2, b2])
    joined = [first.generator(*names).random() for names in (("ab", "c"), ("a", "bc"))]
    assert joined[0] != joined[1], "names do not run together"


def test_random_streams_are_uncorrelated():
    """Correlation of n independent pairs has standard deviation 1/√n: 5 of them is one in a million."""
    n = 20_000
    x = RandomStreams(1).generator("x").random(n)
    for streams, name in ((RandomStreams(1), "y"), (RandomStreams(2), "x"), (RandomStreams(1, 1), "x")):
        assert abs(np.corrcoef(x, streams.generator(name).random(n))[0, 1]) < 5 / np.sqrt(n)


def test_random_streams_are_the_same_in_every_process():
    draw = (
        "from nona.core.random_streams import *; "
        "print(RandomStreams(3, 1).generator('a', 'b').integers(2**62))"
    )
    expected = f"{RandomStreams(3, 1).generator('a', 'b').integers(2**62)}\n"
    for seed in ("0", "1"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        drawn = subprocess.check_output([sys.executable, "-c", draw], env=environment, text=True)
        assert drawn == expected


ROOT = Path(__file__).resolve().parents[2]
THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]


def luminance(colour):
    raw = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in raw)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_controls_and_ten_colours_of_charts_stand_out_as_wcag_asks(scheme):
    theme = THEME[scheme]
    backgrounds = [theme[f"{place}BackgroundColor"] for place in ("secondary", "code")]
    for background in (theme["backgroundColor"], *backgrounds, *theme["sidebar"].values()):
        assert contrast(theme["textColor"], background) >= 7, background
        assert contrast(theme["primaryColor"], background) >= 3, background  # parts of controls
    assert contrast(theme["linkColor"], theme["backgroundColor"]) >= 4.5
    assert contrast("#ffffff", theme["primaryColor"]) >= 4.5  # the label of a primary button
    colours = theme["chartCategoricalColors"]
    assert len(set(colours)) >= 10
    assert all(contrast(c, theme["backgroundColor"]) >= 2.8 for c in colours)
