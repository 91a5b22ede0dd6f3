"""Quantities: what is read, what is refused, what people see."""

import math

import pytest

from nona.units import _PATTERN, format_bandwidth, format_count, format_size, format_time, parse_quantity


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("40 ms", "time", 0.04),
        ("40ms", "time", 0.04),
        ("2 min", "time", 120.0),
        ("1 MB", "size", 1e6),
        ("1 MiB", "size", 2**20),
        ("8 kbit", "size", 1000.0),
        ("10 Gbps", "bandwidth", 1.25e9),
        ("10 GB/s", "bandwidth", 1e10),
        ("60/min", "rate", 1.0),
        ("3 Hz", "rate", 3.0),
        ("25 %", "fraction", 0.25),
        ("1e3", "size", 1000.0),
        (7, "rate", 7.0),
    ],
)
def test_reads_units(text, dimension, value):
    assert parse_quantity(text, dimension) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("", "time"),
        ("ms", "time"),
        ("5 MB", "time"),
        ("5 m", "time"),
        ("1 mb", "size"),
        ("nan", "rate"),
        (math.nan, "rate"),
        (math.inf, "size"),
        ("1e999", "size"),
        (True, "rate"),
        (None, "rate"),
        ([1], "size"),
    ],
)
def test_refuses_in_one_line(text, dimension):
    with pytest.raises(ValueError, match="write for example") as caught:
        parse_quantity(text, dimension)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["9" * 50_000 + " a b", "1." + "0" * 5_000 + " ms"])
def test_refuses_long_texts_at_once(text):
    """The first took hours; the second has more digits than Python converts."""
    with pytest.raises(ValueError, match="is not a time; write for example") as caught:
        parse_quantity(text, "time")
    assert len(str(caught.value)) < 500


def test_many_digits_are_divided_in_one_way_only():
    assert _PATTERN.fullmatch("9" * 20_000 + " a b") is None
    found = _PATTERN.fullmatch(" -1.5e-3 ms ")
    assert found is not None
    assert found.groups() == ("-1.5e-3", "ms")


def test_formats_for_people():
    assert format_time(2.5e-6) == "2.5 µs"
    assert format_time(90.0) == "90 s"
    assert format_size(0) == "0 B"
    assert format_size(3.2e9) == "3.2 GB"
    assert format_bandwidth(1.25e9) == "10 Gbit/s"
    assert format_count(1.45e12, "FLOP") == "1.45 TFLOP"
    assert format_time(math.inf) == "∞"
