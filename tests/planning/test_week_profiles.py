"""The week of a plan: tables as spreadsheets write them, and what is wrong with others in one line."""

from __future__ import annotations

import pytest

from nona.errors import ScenarioError
from nona.planning.traffic import is_table, read_profile

DAY = [f"{hour},{1 + hour / 24:.3f}" for hour in range(24)]


def table(rows: list[str], head: str = "hour,factor") -> bytes:
    return "\n".join([head, *rows, ""]).encode()


PLAIN = table(DAY)


@pytest.mark.parametrize(
    "data",
    [
        table(DAY, '"hour","factor"'),
        table([",".join(f'"{cell}"' for cell in row.split(",")) for row in DAY], '"Hour", "Factor"'),
        b"\xef\xbb\xbf" + PLAIN.replace(b"\n", b"\r\n"),
        b"\n\n" + PLAIN,
        table(list(reversed(DAY))),
    ],
    ids=["quoted head", "quoted", "spreadsheet", "blank lines first", "hours in another order"],
)
def test_a_table_is_read_however_a_spreadsheet_writes_it(data: bytes) -> None:
    assert is_table(data)
    assert read_profile(data, "w.csv", 10.0) == read_profile(PLAIN, "w.csv", 10.0)


@pytest.mark.parametrize("hour", ["nan", "inf", "-1", "0.4", "168", "1e300"])
def test_an_hour_is_a_whole_number_of_the_week(hour: str) -> None:
    data = table([f"{hour},1", *DAY[1:]])
    with pytest.raises(
        ScenarioError, match=r"Profile 'w.csv', line 2: hour .* must be a whole number from 0"
    ):
        read_profile(data, "w.csv", 10.0)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_columns_separated_otherwise_are_a_table_whose_remedy_is_named(separator: str) -> None:
    data = PLAIN.replace(b",", separator.encode())
    assert is_table(data)
    with pytest.raises(ScenarioError, match="separate columns by commas"):
        read_profile(data, "w.csv", 10.0)
