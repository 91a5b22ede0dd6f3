"""Trace readers and the traps of the public formats."""

from __future__ import annotations

import numpy as np
import pytest

from nona.errors import SimulationError
from nona.simulation.traces import (
    TRACE_READERS,
    parse_time,
    read_azure_functions,
    read_azure_llm,
    read_times,
    read_trace,
    spread_counts,
)

LLM_2023 = (
    b"TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    b"2023-11-16 18:17:03.9799600,4808,10\r\n"
    b"2023-11-16 18:17:04.0319601,3180,8\r\n"
    b"2023-11-16 18:17:04.0319600,110,27"  # out of order, and no newline at the end
)


def test_seven_decimals_without_zone_and_without_last_newline() -> None:
    times = read_azure_llm(LLM_2023, "code.csv")
    assert times == pytest.approx([0.0, 0.052, 0.0520001], abs=1e-12)


def test_mixed_zones_and_whole_seconds_of_2024() -> None:
    data = (
        b"TIMESTAMP,ContextTokens,GeneratedTokens\n"
        b"2024-05-12 00:00:00+00:00,1,2\n"
        b"2024-05-10 00:00:00.009930+00:00,1,2\n"
    )
    assert read_azure_llm(data, "x.csv") == pytest.approx([0.0, 2 * 86400 - 0.00993], abs=1e-9)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:01Z", 1.0),
        ("1970-01-01 01:00:00.5+01:00", 0.5),
        ("1969-12-31 23:00:00-0100", 0.0),
        ("-1.25", -1.25),
        ("1e3", 1000.0),
    ],
)
def test_times_in_all_notations(text: str, seconds: float) -> None:
    assert sum(parse_time(text)) == seconds


@pytest.mark.parametrize(
    "data",
    [b"1.5\n3\n2\n", b"time_s\n1.5\n\n3\n2\n", b"\xef\xbb\xbft,x\n1.5,a\n3,b\n2,c", b"1e0\r\n2.5\r\n1.5\r\n"],
    ids=["plain", "header and blank line", "byte order mark and columns", "windows"],
)
def test_one_column_of_times(data: bytes) -> None:
    assert read_trace(data, "t.csv").tolist() == [0.0, 0.5, 1.5]


def test_times_may_be_timestamps_without_header() -> None:
    assert read_times(b"2023-01-01 00:00:00\n2023-01-01T00:00:01.5\n", "t.csv").tolist() == [0.0, 1.5]


FUNCTIONS = (
    b"HashOwner,HashApp,HashFunction,Trigger,1,2,3\n"
    b"o,a,f,http,2,0,1\n"
    b"o,a,g,timer,0,3,\n"  # a missing count is none
)


def test_minute_counts_of_all_functions() -> None:
    times = read_trace(FUNCTIONS, "day.csv")
    assert np.bincount((times // 60).astype(int)).tolist() == [2, 3, 1]
    assert (np.diff(times) >= 0).all()
    assert times.tolist() == read_azure_functions(FUNCTIONS, "day.csv").tolist()
    assert times.tolist() != read_azure_functions(FUNCTIONS, "day.csv", seed=1).tolist()


def test_minute_counts_of_one_function_equidistant() -> None:
    times = read_azure_functions(FUNCTIONS, "day.csv", where=("HashFunction", "g"), within="equidistant")
    assert times == pytest.approx([70.0, 90.0, 110.0])


def test_uniform_within_the_minute() -> None:
    times = spread_counts(np.array([0, 20_000]), "uniform", np.random.default_rng(3))
    assert times.min() >= 60
    assert times.max() < 120
    assert times.mean() == pytest.approx(90, abs=5 * 60 / 12**0.5 / 20_000**0.5)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "no arrivals"),
        (b"only a header\n", "no arrivals"),
        (b"1\nx\n", "line 2: 'x'"),
        (b"1\nnan\n", "'nan'"),
        (b"1\ninf\n", "'inf'"),
        (b"\xff\xfe1\x00", "UTF-8"),
        (b"2023-13-01 00:00:00\n", "2023-13-01"),
        (b"TIMESTAMP,A\n,1\n", "line 2: ''"),
        (b"a,HashFunction,1\no,f,-3\n", "'-3' of minute 1"),
        (b"a,HashFunction,1\no,f,1.5\n", "'1.5'"),
        (b"a,HashFunction,1\no,f,0\n", "0 arrivals"),
        (b"a,HashFunction,1\no,f,999999999\n", "999999999 arrivals"),
        (b"a,HashFunction,Trigger\no,f,1\n", "minutes 1, 2"),
        (b'1\n"open\n', "line"),
    ],
)
def test_bad_traces_give_one_line(data: bytes, what: str) -> None:
    with pytest.raises(SimulationError, match=what) as error:
        read_trace(data, "bad.csv")
    assert "\n" not in str(error.value)


def test_a_reader_says_when_the_format_is_not_its_own() -> None:
    for name in ("azure-llm", "azure-functions"):
        with pytest.raises(SimulationError, match="header"):
            TRACE_READERS[name](b"1\n2\n", "t.csv")
