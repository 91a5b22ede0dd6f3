"""Tables as CSV, Parquet and Markdown."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


# A spreadsheet takes a cell that begins with one of these for a formula (CWE-1236).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: object) -> object:
    """Text that a spreadsheet would run as a formula gets a leading apostrophe; all else is unchanged.

    >>> safe_cell("=1+1"), safe_cell(-1.5), safe_cell("conv1")
    ("'=1+1", -1.5, 'conv1')
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """The table as CSV in UTF-8, without its index.

    >>> import pandas as pd
    >>> csv_bytes(pd.DataFrame({"task": ["@a"], "ms": [1.5]})).decode().split()
    ['task,ms', "'@a,1.5"]
    """
    safe = frame.rename(columns=safe_cell).map(safe_cell)
    return safe.to_csv(index=False).encode("utf-8")


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """The table as Parquet; columns of mixed types are written as text, columns without a value as numbers.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"ms": [1.5]})
    >>> pd.read_parquet(io.BytesIO(parquet_bytes(frame))).equals(frame)
    True
    """
    import pandas as pd

    typed = frame.rename(columns=str)
    for column in typed.columns:
        kind = pd.api.types.infer_dtype(typed[column], skipna=True)
        if kind.startswith("mixed") and kind != "mixed-integer-float":
            typed[column] = typed[column].map(str)
        elif kind == "empty":  # Parquet's type "null" fits no other file of the same table
            typed[column] = typed[column].astype("float64")
    buffer = io.BytesIO()
    typed.to_parquet(buffer, index=False)
    return buffer.getvalue()


BEGIN, END = "<!-- made from the data: begin -->", "<!-- made from the data: end -->"


def between_marks(page: str, text: str, around: str = "\n\n") -> str:
    """Replace the part of ``page`` between its two marks by ``text``, with ``around`` on both sides.

    >>> print(between_marks(f"a {BEGIN}old{END} b", "new"))
    a <!-- made from the data: begin -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- made from the data: end --> b
    """
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{around}{text}{around}{END}{after}"
