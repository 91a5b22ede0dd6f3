"""Files of others: kind, size, cells and times are checked before anything is read."""

import os
import time
import tracemalloc

import pytest

from benchmarks.fuzz_tables import fuzz, outcome, tables
from nona.cli.main import main
from nona.cluster.hardware.mig_parted import read_mig_parted
from nona.core import foreign as files
from nona.core.errors import GraphError, NonaError
from nona.core.foreign import MOST_ARRIVALS, MOST_COLUMNS, MOST_MINUTES, CsvFile, read_file
from nona.models.cost.measured import read_measured
from nona.scenario.lookup import Sources
from nona.scenario.traces import read_azure_functions, read_times, trace_columns
from nona.training.job_files import read_job_table, read_trace
from nona.training.throughput_table import read_throughputs

COMMANDS = ["place", "simulate", "serverless", "inspect", "training simulate"]
COMMANDS += ["training allocate --policy max-min-fairness"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "4294967296 bytes"])
def test_what_is_no_file_or_too_large_is_refused_at_once_in_one_line(kind, tmp_path, capsys):
    path, file = tmp_path / "given.json", tmp_path / "large"
    file.touch()
    os.truncate(file, 4 * 2**30)  # sparse: it takes no room
    make = {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
    }
    make.get(kind, lambda: path.symlink_to(file))()
    begin = time.process_time()
    with pytest.raises(GraphError, match=kind) as caught:
        Sources(tmp_path).read("given.json")
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    for command in COMMANDS:
        assert main([*command.split(), str(path)]) == 2
        said = capsys.readouterr().err
        assert kind.replace("folder", "") in said
        assert said.count("\n") == 1
    assert time.process_time() - begin < 20
    file.unlink()
    file.write_bytes(b"{}")
    (tmp_path / "link.json").symlink_to("large")
    assert read_file(tmp_path / "link.json", "File", 10, ValueError) == b"{}"


def test_a_file_that_grows_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    path.write_bytes(b"{}")
    real = files.os.fstat

    def grow(number):
        found = real(number)
        with path.open("ab") as file:
            file.write(b"more")
        return found

    monkeypatch.setattr(files.os, "fstat", grow)
    with pytest.raises(GraphError, match="it grows while it is read"):
        Sources(tmp_path).read("m.json")


@pytest.mark.parametrize("name", ["a\0b.json", "\ud800.json", "x" * 300 + ".json", "é" * 190 + ".json"])
def test_impossible_names_are_one_line(name, tmp_path):
    with pytest.raises(GraphError) as caught:
        Sources(tmp_path).read(name)
    assert "\n" not in str(caught.value)
    assert len(Sources(tmp_path).missing("workload[0].model", name)) == 1


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


MINUTES = ["200000000", "300000000", "99999999999", "9" * 5000, str(MOST_MINUTES + 1)]
COUNTS = ["9" * 5000, "99999999999", "-1", "1e9", "999999999"]


@pytest.mark.parametrize(
    ("minute", "count"), [*((m, "1") for m in MINUTES), *(("1", c) for c in COUNTS)], ids=len
)
def test_a_minute_beyond_a_year_or_a_count_of_many_is_refused_before_there_is_room_for_it(minute, count):
    told = refused(read_azure_functions, f"HashFunction,{minute}\nf,{count}\n".encode(), "t.csv")
    assert minute == "1" or f"more than {MOST_MINUTES}" in told


@pytest.mark.parametrize("far", ["1e308", "-1e308", "1e13", "inf", "nan", "9" * 5000])
def test_times_far_away_are_refused(far):
    data = f"TIMESTAMP\n{far}\n-1e308\n0\n1\n".encode()
    assert "neither a number of seconds nor a timestamp" in refused(read_times, data, "t.csv")


def test_more_arrivals_than_allowed_are_refused(monkeypatch):
    monkeypatch.setattr("nona.scenario.traces.MOST_ARRIVALS", 1000)
    assert "more than 1,001 rows" in refused(read_times, b"0\n" * 1002, "t.csv")
    assert len(read_times(b"0\n" * 1000, "t.csv")) == 1000
    assert MOST_ARRIVALS <= 5_000_000


TRACES = [read_times, read_azure_functions, trace_columns, read_job_table, read_throughputs]


@pytest.mark.parametrize("read", [*TRACES, read_trace, read_measured])
def test_a_row_of_millions_of_cells_is_refused_before_it_is_taken_apart(read):
    refused(read, b"," * 1_000_000, *([] if read is read_measured else ["t.csv"]))


def test_cells_are_counted_by_row():
    rows = list(CsvFile(b"a," * 400_000 + b"\n" + b"b," * 400_000, "Table", ValueError).numbered_rows())
    assert [len(row) for _, row in rows] == [400_001, 400_001]
    assert MOST_COLUMNS > 400_000
    assert "cells" in refused(
        lambda data: list(CsvFile(data, "Table", NonaError).numbered_rows()), b'"\n",' * 700_000
    )


def test_reading_rows_ends_in_time():
    rows = CsvFile(b"a\nb\nc\n", "Table", ValueError, within_s=0.05).numbered_rows()
    assert next(rows) == (1, ["a"])
    end = time.thread_time() + 0.06
    while time.thread_time() < end:
        pass
    with pytest.raises(ValueError, match=r"line 2: reading it takes more than 0\.05 s of processor time"):
        next(rows)


SCALARS = ["!!int ''", "!!bool x", "!!timestamp x", "!!binary a", "0x" + "f" * 5000, "1:" * 3000 + "1"]


@pytest.mark.parametrize("value", SCALARS)
@pytest.mark.parametrize("text", ["version: {}", "{{version: v1, mig-configs: {{{}: [] }}}}"])
def test_a_mig_file_with_odd_scalars_is_one_line(text, value):
    refused(read_mig_parted, text.format(value).encode(), "a100-40gb")


def test_undamaged_tables_are_read_and_damaged_ones_read_or_refused_in_one_line():
    assert {outcome(table, table.data) for table in tables()} == {("read", "")}
    told = []
    counts = fuzz(650, 1, told.append)
    assert told == []
    assert all(row["read"] + row["refused"] == 50 for row in counts.values())
    assert sum(row["refused"] for row in counts.values()) > 100
