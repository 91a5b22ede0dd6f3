"""Every way to show a table tells the same; the columns of a declared table can be told apart."""

import importlib
import io
import math
import pkgutil
from html import unescape

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nona
from nona.core.document import Estimate
from nona.core.html import pieces
from nona.core.tables import (
    CHANGE,
    COUNT,
    FACTOR,
    KEPT,
    MOST_STYLED,
    NUMBER,
    PLAIN,
    SHARE,
    TIME,
    Column,
    Table,
    csv_bytes,
    mean_text,
    parquet_bytes,
)

KINDS = (NUMBER, TIME, SHARE, KEPT, CHANGE, FACTOR)
NUMBERS = st.one_of(st.none(), st.floats(-1e6, 1e6))
MEANS = st.builds(
    lambda mean, half: Estimate(mean=mean, ci95=None if mean is None else (mean - half, mean + half)),
    NUMBERS,
    st.floats(0, 1e3),
)
TABLE = Table(
    "name",
    (
        *(Column(f"number {k}", lambda row, k=k: row[0][k], kind) for k, kind in enumerate(KINDS)),
        *(Column(f"mean {k}", lambda row, k=k: row[1][k], kind, "", True) for k, kind in enumerate(KINDS)),
        Column("count", lambda row: row[2], COUNT, decides=True),
        Column("sorted", lambda row: row[0][0], PLAIN),
        Column("word", lambda row: row[3]),
        Column("sometimes", lambda row: row[4], optional=True),
    ),
)
ROWS = st.dictionaries(
    st.sampled_from(["nona", "<local>", "=1+1"]),
    st.tuples(
        st.tuples(*[NUMBERS] * len(KINDS)),
        st.tuples(*[MEANS] * len(KINDS)),
        st.integers(0, 10**9),
        st.sampled_from(["a & b", "", "x|y"]),
        NUMBERS,
    ),
    min_size=1,
)


@given(ROWS)
def test_text_page_html_and_files_tell_the_same(rows):
    filled = TABLE.fill(rows)
    texts, lines = filled.texts(), filled.text().splitlines()
    page = unescape(pieces.document("A page", [pieces.table(filled, "caption")]))
    assert len(lines) == 1 + len(rows)
    assert ("sometimes" in filled.headings) == any(row[4] is not None for row in rows.values())
    for line, text, (name, row) in zip(lines[1:], texts, rows.items(), strict=True):
        assert line.startswith(name)
        assert all(value in line for value in text.values())
        assert all(f">{value}</" in page for value in text.values())
        assert text["count"] == f"{row[2]:,}"
        for k, kind in enumerate(KINDS):
            numbers, means = ([of[j][k] for of in rows.values()] for j in (0, 1))
            number, mean = _show(kind, numbers), _show(kind, [of.mean for of in means])
            assert text[f"number {k}"] == ("–" if row[0][k] is None else number(row[0][k]))
            assert text[f"mean {k}"] == mean_text(row[1][k], mean)
    _page(filled, rows)
    _numbers(filled, rows)


def _show(kind, values):
    return kind.show if kind.alike is None else kind.alike(v for v in values if v is not None)


def _page(filled, rows):
    """Pages sort by numbers and show their texts."""
    shown = filled.to_pandas()
    lines = shown.to_string(delimiter="\t").splitlines()[1:]
    assert [line.split("\t")[1:] for line in lines] == [list(text.values()) for text in filled.texts()]
    for k, row in enumerate(rows.values()):
        for j in range(len(KINDS)):
            assert _same(shown.data[f"number {j}"][k], row[0][j])
            assert _same(shown.data[f"mean {j}"][k], row[1][j].mean)
        assert shown.data["count"][k] == row[2]


def _numbers(filled, rows):
    table = filled.numbers()
    again = pd.read_parquet(io.BytesIO(parquet_bytes(table)))
    pd.testing.assert_frame_equal(again, table)
    assert len(pd.read_csv(io.BytesIO(csv_bytes(table)))) == len(rows)
    for k, (_, row) in enumerate(rows.items()):
        for j, kind in enumerate(KINDS):
            assert _same(table[f"number {j}{kind.ending}"][k], row[0][j])
            mean = row[1][j]
            low, high = mean.ci95 or (None, None)
            for end, value in (("", mean.mean), ("_low", low), ("_high", high)):
                assert _same(table[f"mean {j}{end}{kind.ending}"][k], value)


def _same(number, value):
    return number == "–" or math.isnan(number) if value is None else number == value


def test_columns_are_selected_by_name_and_those_left_out_are_passed_over():
    row = ((0.5,) * len(KINDS), (Estimate(mean=0.5, ci95=None),) * len(KINDS), 3, "w", None)
    filled = TABLE.fill({"nona": row})
    assert filled.deciding == ("name", "count")
    assert filled.select("word", "sometimes", "name").texts() == [{"word": "w", "name": "nona"}]
    assert filled.without_columns("word").headings == tuple(h for h in filled.headings if h != "word")
    assert filled.select("word", "name").markdown().splitlines() == [
        "| word | name |",
        "|---|---|",
        "| w | nona |",
    ]


def test_words_among_numbers_stand_last_and_very_large_tables_are_plain():
    table = Table("name", (Column("time", lambda value: value, TIME), Column("n", lambda _: 7, COUNT)))
    shown = table.fill({"a": 1.0, "b": "overloaded", "c": None}).to_pandas()
    assert shown.data.sort_values("time")["name"].tolist() == ["a", "b", "c"]
    large = table.fill(dict.fromkeys(map(str, range(MOST_STYLED)), 0.5)).to_pandas()
    assert (large["time"][0], large["n"][0]) == ("500 ms", 7)
    assert not TABLE.fill({})
    assert not TABLE.fill({}).text().splitlines()[1:]


def _declared():
    for module in pkgutil.walk_packages(nona.__path__, "nona."):
        if "report" not in module.name:
            continue
        content = vars(importlib.import_module(module.name))
        yield from ((f"{module.name}.{name}", t) for name, t in content.items() if isinstance(t, Table))


@pytest.mark.parametrize(("name", "table"), list(_declared()))
def test_columns_of_a_declared_table_can_be_told_apart(name, table):
    headings = [c.heading for c in table.columns]
    assert len({*headings}) == len(headings)
    assert len({c.name for c in table.columns}) == len(headings)
    assert table.named not in headings


@pytest.mark.parametrize(
    ("times_s", "unit"),
    [((1.81, 0.95, 0.02), "s"), ((1.81, 0.0021), "ms"), ((0.0004, 0.00002), "µs"), ((3e-6,), "µs")],
)
def test_a_column_of_times_has_one_unit(times_s, unit):
    table = Table("", (Column("time", lambda t: Estimate(mean=t, ci95=(0.9 * t, 1.1 * t)), TIME),)).fill(
        times_s
    )
    shown = [row["time"] for row in table.texts()]
    factor = {"s": 1.0, "ms": 1e3, "µs": 1e6}[unit]
    for text, time_s in zip(shown, times_s, strict=True):
        mean, half = text.split(" ± ")
        assert mean.endswith(f" {unit}")
        assert half.endswith(f" {unit}")
        assert float(mean.split()[0].replace(",", "")) == pytest.approx(factor * time_s, rel=0.01)


def test_times_that_are_too_far_apart_keep_their_own_units():
    shown = Table("", (Column("time", lambda t: t, TIME),)).fill((2.0, 2e-6)).texts()
    assert [row["time"] for row in shown] == ["2 s", "2 µs"]
