"""The guide: its sections as searchable Markdown, with computed parts filled in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from nona import __version__
from nona.cost.validation.latencies import validation_report
from nona.report.glossary import glossary_text
from nona.schedulers.families import FAMILY_TITLES
from nona.schedulers.registry import SCHEDULERS

_BLANK = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its name in links, its title, its text as Markdown."""

    name: str
    title: str
    text: str


@cache
def sections() -> tuple[Section, ...]:
    """All sections in order.

    >>> [s.name for s in sections()][:3]
    ['start', 'words', 'contraction']
    """
    folder = files("nona.report").joinpath("guide_text")
    found = []
    for file in sorted((f for f in folder.iterdir() if f.name.endswith(".md")), key=lambda f: f.name):
        title, _, text = file.read_text("utf-8").partition("\n")
        name = file.name.removesuffix(".md").partition("-")[2]
        found.append(Section(name, title.removeprefix("# "), _BLANK.sub(_filled, text).strip()))
    return tuple(found)


def section_titles() -> Mapping[str, str]:
    """Name of each section → its title."""
    return MappingProxyType({s.name: s.title for s in sections()})


def matching(query: str, among: Sequence[Section] | None = None) -> tuple[Section, ...]:
    """The sections that contain every word of ``query``, ignoring case; all for an empty query.

    Those whose title holds a word come first.

    >>> [s.name for s in matching("stranded slice")]
    ['mig']
    """
    words = query.casefold().split()
    found = [
        s
        for s in (sections() if among is None else among)
        if all(w in s.title.casefold() or w in s.text.casefold() for w in words)
    ]
    return tuple(sorted(found, key=lambda s: not any(w in s.title.casefold() for w in words)))


def _filled(match: re.Match[str]) -> str:
    return _COMPUTED[match.group(1)]()


def _schedulers() -> str:
    """One line per registered scheduler, by family."""
    parts = []
    for family, title in FAMILY_TITLES.items():
        found = [s for s in SCHEDULERS.values() if s.family == family]
        lines = [f"* **{s.name}** ({s.network_view.name}): {s.summary}" for s in found]
        parts += ["\n".join([f"### {title}", "", *lines])] if lines else []
    return "\n\n".join(parts)


def _validation() -> str:
    total = validation_report().overall
    return (
        f"Compared with {total.rows} published latencies of whole networks, the formula is off by "
        f"{total.mape:.0%} on average, and ranks them almost correctly (rank correlation "
        f"{total.spearman:.2f}). The Validation page shows each."
    )


def _citation() -> str:
    return (
        "```bibtex\n@software{nona_planner,\n  title   = {Nona Planner},\n"
        "  author  = {{Nona Planner contributors}},\n"
        f"  version = {{{__version__}}},\n  license = {{MIT}}\n}}\n```"
    )


_COMPUTED: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "schedulers": _schedulers,
        "glossary": glossary_text,
        "validation": _validation,
        "citation": _citation,
    }
)
