"""What a study says, for terminals, pages and documents."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nona.core.tables import FilledTable

R = TypeVar("R")
K = TypeVar("K", bound=Hashable)


def grouped(rows: Iterable[R], key: Callable[[R], K]) -> dict[K, list[R]]:
    """Return the rows of each key, in order of appearance."""
    groups: dict[K, list[R]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


@dataclass(frozen=True, slots=True)
class Shown:
    """A table under its heading; ``folded`` on pages; text has its columns ``printed``, by default all."""

    key: str
    heading: str
    rows: FilledTable
    folded: bool = False
    printed: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Presented:
    """``title`` is the main finding without its full stop; ``notes`` say what the numbers rest on."""

    title: str
    findings: Sequence[str]
    tables: Sequence[Shown]
    notes: str
    provenance: str

    def text(self) -> str:
        """All of it, for terminals."""
        lines = [f"{self.title}.", "", *(f"- {line}" for line in self.findings)]
        for shown in self.tables:
            rows = shown.rows if shown.printed is None else shown.rows.select(*shown.printed)
            if rows.columns:
                lines += ["", shown.heading, rows.text() if rows else "–"]
        return "\n".join([*lines, "", *filter(None, (self.notes, self.provenance))])

    def markdown(self) -> str:
        """Return finding, sentences and the tables that are not folded, for documents."""
        parts = [f"**{self.title}.**", "\n".join(f"* {line}" for line in self.findings)]
        for shown in self.tables:
            parts += (
                [f"### {shown.heading}", shown.rows.markdown()] if shown.rows and not shown.folded else []
            )
        return "\n\n".join([*parts, self.provenance])
