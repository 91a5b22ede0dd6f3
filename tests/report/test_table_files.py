"""Tables as files: nothing in them runs, nothing in them is lost."""

from __future__ import annotations

import csv
import io

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.report.files import csv_bytes, parquet_bytes

CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=12)


@given(st.lists(st.tuples(CELLS, st.floats(allow_nan=False)), min_size=1, max_size=6))
@examples(60)
def test_csv_keeps_every_cell_and_runs_none(rows: list[tuple[str, float]]) -> None:
    frame = pd.DataFrame(rows, columns=["=name", "value"])
    read = list(csv.reader(io.StringIO(csv_bytes(frame).decode())))
    assert read[0] == ["'=name", "value"]
    for (name, value), (cell, number) in zip(rows, read[1:], strict=True):
        assert not cell.startswith(("=", "+", "-", "@", "\t"))
        assert cell.removeprefix("'") == name.removeprefix("'")
        assert float(number) == value


def test_parquet_keeps_types_and_writes_mixed_columns_as_text() -> None:
    frame = pd.DataFrame({"n": [1, 2], "s": ["=a", None], "x": [0.5, float("nan")], "m": [1, "two"]})
    back = pd.read_parquet(io.BytesIO(parquet_bytes(frame)))
    assert list(back["n"]) == [1, 2]
    assert back["n"].dtype == "int64"
    assert back["s"][0] == "=a"
    assert back["s"].isna()[1]
    assert list(back["m"]) == ["1", "two"]


def test_a_column_without_a_value_has_the_type_of_the_same_column_with_values() -> None:
    empty, full = (pd.DataFrame({"kWh": [value, None]}) for value in (None, 0.5))
    assert pd.read_parquet(io.BytesIO(parquet_bytes(empty)))["kWh"].dtype == "float64"
    assert pd.read_parquet(io.BytesIO(parquet_bytes(full)))["kWh"].dtype == "float64"
