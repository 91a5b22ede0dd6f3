"""Traces and tables that ask for too much: one line, in little time and memory."""

import time
import tracemalloc

import pytest

from nona.cost.measured import read_measured
from nona.errors import NonaError
from nona.foreign.files import MOST_ARRIVALS, MOST_COLUMNS, MOST_MINUTES, CsvFile
from nona.hardware.mig_layouts import read_mig_parted
from nona.simulation.traces import read_azure_functions, read_azure_llm, read_times, trace_columns
from nona.training.job_files import read_job_table, read_trace
from nona.training.throughput_table import read_throughputs

MOST_BYTES = 200e6


def refused(read, data, *more):
    tracemalloc.start()
    begin = time.process_time()
    try:
        with pytest.raises(NonaError) as caught:
            read(data, *more)
        assert tracemalloc.get_traced_memory()[1] - len(data) < MOST_BYTES
    finally:
        tracemalloc.stop()
    assert time.process_time() - begin < 10
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "minute", ["200000000", "300000000", "99999999999", "9" * 5000, str(MOST_MINUTES + 1)], ids=len
)
def test_a_minute_beyond_a_year_is_refused_before_there_is_room_for_it(minute):
    data = f"HashFunction,{minute}\nf,1\n".encode()
    assert f"more than {MOST_MINUTES}" in refused(read_azure_functions, data, "t.csv")


@pytest.mark.parametrize("count", ["9" * 5000, "99999999999", "-1", "1e9", "999999999"], ids=len)
def test_a_count_of_many_is_refused_before_they_are_drawn(count):
    refused(read_azure_functions, f"HashFunction,1\nf,{count}\n".encode(), "t.csv")


@pytest.mark.parametrize("far", ["1e308", "-1e308", "1e13", "inf", "nan", "9" * 5000])
@pytest.mark.parametrize("read", [read_times, read_azure_llm])
def test_times_far_away_are_refused(read, far):
    data = f"TIMESTAMP\n{far}\n-1e308\n0\n1\n".encode()
    assert "neither a number of seconds nor a timestamp" in refused(read, data, "t.csv")


def test_more_arrivals_than_allowed_are_refused(monkeypatch):
    monkeypatch.setattr("nona.simulation.traces.MOST_ARRIVALS", 1000)
    assert "more than 1,001 rows" in refused(read_times, b"0\n" * 1002, "t.csv")
    assert len(read_times(b"0\n" * 1000, "t.csv")) == 1000
    assert MOST_ARRIVALS <= 5_000_000


READERS = [
    (read_times, ("t.csv",)),
    (read_azure_llm, ("t.csv",)),
    (read_azure_functions, ("t.csv",)),
    (trace_columns, ("t.csv",)),
    (read_measured, ()),
    (read_trace, ("t.trace",)),
    (read_job_table, ("t.csv",)),
    (read_throughputs, ("t.csv",)),
]


@pytest.mark.parametrize(("read", "more"), READERS, ids=lambda r: getattr(r, "__name__", ""))
def test_a_row_of_millions_of_cells_is_refused_before_it_is_taken_apart(read, more):
    refused(read, b"," * 1_000_000, *more)


def test_cells_are_counted_by_row():
    rows = list(CsvFile(b"a," * 400_000 + b"\n" + b"b," * 400_000, "Table", ValueError).rows())
    assert [len(row) for _, row in rows] == [400_001, 400_001]
    assert MOST_COLUMNS > 400_000
    assert "cells" in refused(lambda data: list(CsvFile(data, "Table", NonaError).rows()), b'"\n",' * 700_000)


def test_reading_rows_ends_in_time():
    rows = CsvFile(b"a\nb\nc\n", "Table", ValueError, within_s=0.05).rows()
    assert next(rows) == (1, ["a"])
    end = time.thread_time() + 0.06
    while time.thread_time() < end:
        pass
    with pytest.raises(ValueError, match=r"line 2: reading it takes more than 0\.05 s of processor time"):
        next(rows)


@pytest.mark.parametrize(
    "value", ["!!int ''", "!!bool x", "!!timestamp x", "!!binary a", "0x" + "f" * 5000, "1:" * 3000 + "1"]
)
@pytest.mark.parametrize("text", ["version: {}", "{{version: v1, mig-configs: {{{}: [] }}}}"])
def test_a_mig_file_with_odd_scalars_is_one_line(text, value):
    refused(read_mig_parted, text.format(value).encode(), "a100-40gb")
