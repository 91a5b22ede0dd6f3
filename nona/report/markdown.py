"""Parts of the documentation that are made from data, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

BEGIN, END = "<!-- made from the data: begin -->", "<!-- made from the data: end -->"


def between_marks(page: str, text: str, around: str = "\n\n") -> str:
    """``page`` with what stands between its two marks replaced by ``text``, with ``around`` on both sides.

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


def markdown_table(rows: Sequence[Mapping[str, object]]) -> str:
    """A table in Markdown.

    >>> print(markdown_table([{"a": 1, "b": "x|y"}]))
    | a | b |
    |---|---|
    | 1 | x\\|y |
    """
    head = list(rows[0])
    lines = [head, *([str(row[c]).replace("|", "\\|") for c in head] for row in rows)]
    shown = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([shown[0], f"|{'---|' * len(head)}", *shown[1:]])
