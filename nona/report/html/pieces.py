"""Pieces of a report in HTML, made by the templates beside this module; text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from nona.tables import Filled

Row = Mapping[str, str]
_TEMPLATES = Path(__file__).parent / "templates"


def _visible(value: object) -> object:
    """Text in which characters that no file may hold are a box; a piece stays as it is."""
    if isinstance(value, Markup):
        return value
    return "".join(c if c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f") else "▯" for c in str(value))


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=False,
        keep_trailing_newline=True,
    )


@cache
def _pieces() -> Any:
    return _environment().get_template("pieces.html.j2").module


def document(title: str, body: Iterable[Markup]) -> str:
    """A complete page without other files, requests or scripts."""
    template = _environment().get_template("page.html.j2")
    return template.render(title=title, parts=[part for part in body if part])


def header(
    title: str, what: str = "", description: str = "", about: Mapping[str, object] | None = None
) -> Markup:
    """Build the top of a report: its title, its kind, and facts about it."""
    return Markup(_pieces().header(what, title, description, about))


def section(title: str, *parts: Markup) -> Markup:
    """A section with its heading; empty where it has no content."""
    shown = [p for p in parts if p]
    return Markup(_pieces().section(title, shown)) if shown else Markup()


def subtitle(text: str) -> Markup:
    """A heading inside a section."""
    return Markup(_pieces().subtitle(text))


def paragraph(text: str, kind: str = "") -> Markup:
    """A paragraph of plain text; empty where there is no text."""
    return Markup(_pieces().paragraph(text, kind)) if text else Markup()


def bullets(lines: Sequence[tuple[str, str]], kind: str = "") -> Markup:
    """A list; each line has its CSS class."""
    return Markup(_pieces().bullets(lines, kind)) if lines else Markup()


def facts(pairs: Mapping[str, object]) -> Markup:
    """A list of names and values."""
    return Markup(_pieces().facts(pairs))


def table(rows: Filled | Sequence[Row], caption: str, long: Sequence[str] = ()) -> Markup:
    """A table whose first column heads its rows; ``long`` columns wrap.

    >>> table([], "nothing")
    Markup('')
    """
    if not rows:
        return Markup()
    rows = rows.texts() if isinstance(rows, Filled) else rows
    return Markup(_pieces().table(list(rows[0]), rows, caption, long))


def code(text: str) -> Markup:
    """Preformatted text, to be copied."""
    return Markup(_pieces().code(text))


def drawn(shape: str, *values: object) -> Markup:
    """A shape of a chart: ``grid``, ``line``, ``mark``, ``bar`` or ``words``."""
    return Markup(getattr(_pieces(), shape)(*values))


def figure(
    title: str, size: tuple[float, float], alt: str, shapes: Sequence[Markup], note: str = ""
) -> Markup:
    """A chart under its finding; ``alt`` describes it in words."""
    return Markup(_pieces().figure(title, *size, alt, shapes, note))
