"""Damaged traces and tables: whatever the bytes, a result or an error of one line."""

import pytest

from benchmarks.fuzz_tables import fuzz, outcome, tables


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.kind)
def test_the_undamaged_file_is_read(table):
    assert outcome(table, table.data) == ("read", "")


def test_damaged_files_are_read_or_refused_in_one_line():
    told = []
    counts = fuzz(600, 1, told.append)
    assert told == []
    assert all(row["read"] + row["refused"] == 50 for row in counts.values())
    assert sum(row["refused"] for row in counts.values()) > 100
