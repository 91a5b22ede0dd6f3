"""CSV tables that ship with a package: read strictly, once."""

from __future__ import annotations

import csv
import io
from functools import cache
from importlib.resources import files

from nona.core.errors import HardwareError

Row = dict[str, str]


@cache
def shipped_table(package: str, name: str) -> tuple[Row, ...]:
    """Rows of the table ``name`` beside the modules of ``package``.

    >>> shipped_table("nona.cluster.hardware", "data/links.csv")[1]["link"]
    '25gbe'
    """
    text = files(package).joinpath(name).read_text("utf-8")
    return parse_table(text, name)


def parse_table(text: str, name: str) -> tuple[Row, ...]:
    r"""Rows of CSV text with a header; every row must have as many cells as the header.

    >>> parse_table("a,b\n1,2\n", "t.csv")
    ({'a': '1', 'b': '2'},)
    """
    lines = [row for row in csv.reader(io.StringIO(text)) if row]
    if not lines:
        raise HardwareError(f"Table {name}: it is empty; give a header and rows.")
    header = lines[0]
    for number, row in enumerate(lines[1:], start=2):
        if len(row) != len(header):
            raise HardwareError(
                f"Table {name}, row {number}: {len(row)} cells where the header has {len(header)}; "
                "quote cells that hold a comma."
            )
    return tuple(dict(zip(header, row, strict=True)) for row in lines[1:])
