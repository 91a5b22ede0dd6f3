"""A report as one HTML file: its parts as data, and the one template that draws them.

Text is escaped. Figures are drawn by Plotly, whose script lies in the file; a content security policy lets
only that script and the one that starts it run, each by its hash, and nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import plotly.graph_objects as go
import plotly.io
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from nona.core.document import About
from nona.core.tables import Column, FilledTable, Table

Row = Mapping[str, str]
_FOLDER = Path(__file__).parent / "templates"


class ReportPart(NamedTuple):
    """A part of a report: the macro of the template that draws it, and what it is given."""

    macro: str
    values: tuple[object, ...]


Parts = Iterable[ReportPart | None]


def _visible(value: object) -> object:
    """Text in which characters that no file may hold are a box; markup stays as it is."""
    if isinstance(value, Markup):
        return value
    return "".join(c if c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f") else "▯" for c in str(value))


@cache
def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2")


@cache
def _scripts() -> tuple[tuple[Markup, str], ...]:
    """Return plotly and the script that starts it, each with the hash by which it may run."""
    own = (_FOLDER / "report.js").read_text("utf-8")
    return tuple((Markup(text), _hash(text)) for text in (get_plotlyjs(), own))


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def document(title: str, parts: Parts) -> str:
    """Return a complete page without other files or requests; without charts it has no script."""
    shown = [p for p in parts if p]
    scripts = _scripts() if any(map(_has_chart, shown)) else ()
    return str(_template().render(title=title, parts=shown, scripts=scripts))


def _has_chart(part: ReportPart) -> bool:
    return part.macro == "chart" or (part.macro == "section" and any(map(_has_chart, part.values[1])))  # type: ignore[call-overload]


def header(
    title: str, what: str = "", description: str = "", about: Mapping[str, object] | None = None
) -> ReportPart:
    """Return the top of a report: its title, its kind, and facts about it."""
    return ReportPart("header", (title, what, description, about))


def section(title: str, *parts: ReportPart | None) -> ReportPart | None:
    """Return a section with its heading; none where it has no content."""
    shown = [p for p in parts if p]
    return ReportPart("section", (title, shown)) if shown else None


def subtitle(text: str) -> ReportPart:
    """Return a heading inside a section."""
    return ReportPart("subtitle", (text,))


def paragraph(text: str, kind: str = "") -> ReportPart | None:
    """Return a paragraph; none where there is no text."""
    return ReportPart("paragraph", (text, kind)) if text else None


def bullets(lines: Iterable[str | tuple[str, str]], kind: str = "") -> ReportPart | None:
    """Return a list of lines, some with a CSS class of their own; none where there is no line."""
    pairs = [(line, "") if isinstance(line, str) else line for line in lines if line]
    return ReportPart("bullets", (pairs, kind)) if pairs else None


def facts(pairs: Mapping[str, object]) -> ReportPart:
    """Return a list of names and values."""
    return ReportPart("facts", (pairs,))


def table(rows: FilledTable | Sequence[Row], caption: str, long: Sequence[str] = ()) -> ReportPart | None:
    """Return a table of a report.

    Parameters
    ----------
    rows : FilledTable or sequence of Row
        The rows; their first column heads them.
    caption : str
        What the table holds.
    long : sequence of str, optional
        Headings of columns that wrap.

    Returns
    -------
    ReportPart or None
        The table; ``None`` without rows.

    Examples
    --------
    >>> table([], "nothing") is None
    True
    """
    if not rows:
        return None
    rows = rows.texts() if isinstance(rows, FilledTable) else rows
    return ReportPart("table", (list(rows[0]), rows, caption, long))


def code(text: str) -> ReportPart:
    """Preformatted text, to be copied."""
    return ReportPart("code", (text,))


def chart(title: str, figure: go.Figure, alt: str, note: str = "") -> ReportPart:
    """Return a figure of a report under its title.

    The script of Plotly that lies in the file draws it from ``<script type="application/json">``, in which
    :mod:`plotly.io` writes no character that could end it.

    Parameters
    ----------
    title : str
        Stands above the figure.
    figure : plotly.graph_objects.Figure
        The figure.
    alt : str
        Describes the figure in words.
    note : str, optional
        Stands below the figure.

    Returns
    -------
    ReportPart
        The chart.
    """
    drawn = go.Figure(figure).update_layout(template="none")
    data = Markup(plotly.io.to_json(drawn, validate=False))
    return ReportPart("chart", (title, alt, data, note))


CHECKS = Table[bool]("check", (Column("result", lambda ok: "passed" if ok else "FAILED"),))


INTERVALS = (
    "Intervals are at 95 % over replications, without correction for multiple comparisons: about one in "
    "twenty excludes its true value by chance."
)


def report_header(provenance: About, what: str, more: Mapping[str, object]) -> ReportPart | None:
    """Return the top of a report with its provenance."""
    about = {
        "Made": provenance.made,
        "By": f"Nona Planner {provenance.version}",
        "Seed": provenance.seed,
        "Version": provenance.hash,
        **({"Models run as": provenance.runs_as} if provenance.runs_as else {}),
        **more,
    }
    return header(provenance.name, what, provenance.description, about)


def scenario_section(about: About, command: str, *arguments: str) -> ReportPart | None:
    """Return the scenario in full, and the command that does the same."""
    files = (
        f" It refers to files that must be in the same folder: {', '.join(about.files)}. "
        "The scenario's bundle (.nona.zip) contains them."
        if about.files
        else ""
    )
    line = shlex.join(["nona", *command.split(), "scenario.yaml", *arguments])
    return section(
        "Reproduce this report",
        paragraph(f"Save the scenario below as scenario.yaml.{files} Then:"),
        code(line),
        subtitle("scenario.yaml"),
        code(about.yaml),
    )
