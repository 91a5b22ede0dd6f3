"""Numbers, counts, shares, times, tables, findings and whole reports as text; values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


def plain(value: Any) -> Any:
    """Return the value with ``None`` in place of infinities and NaN.

    >>> plain({"a": (1.0, float("inf"))})
    {'a': [1.0, None]}
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


MARKS: Mapping[str, str] = {"prediction": "◇ predicted", "simulation": "● simulated"}
"""Marks and words for the evidence behind a value; other evidence has no mark."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer of a result: a sentence, what stands beside it, and the one number that a page shows large.

    ``value``: that number; a lead without a full stop is about it.
    ``label``, ``hint``: what the number is, in a word and in a sentence.
    ``bad``: it is a warning.
    """

    lead: str
    beside: str = ""
    value: str = ""
    label: str = ""
    hint: str = ""
    bad: bool = False

    @property
    def text(self) -> str:
        """All of it in one paragraph.

        >>> Finding("a is fastest", "± 1 ms", "15 ms").text, Finding("Buy one.", "Two cost more.").text
        ('a is fastest: 15 ms ± 1 ms.', 'Buy one. Two cost more.')
        """
        if self.sentences:
            return " ".join(filter(None, (self.lead, self.beside)))
        gap = " " if self.beside.startswith(("±", "(")) else "; " if self.beside else ""
        return f"{self.lead}: {self.value}{gap}{self.beside}."

    @property
    def sentences(self) -> bool:
        """Whether lead and what stands beside are sentences of their own."""
        return not self.value or self.lead.endswith(".")


_FILLING = {
    *("a", "an", "and", "are", "be", "can", "do", "does", "for", "how", "i", "if", "in", "is", "it", "many"),
    *("much", "my", "of", "on", "or", "should", "so", "the", "to", "what", "which", "why", "with"),
}


def query_words(query: str) -> list[str]:
    """Return the words of a question without its filling words.

    >>> query_words("How many servers do I need?"), query_words("how"), query_words("early_drop")
    (['servers', 'need'], ['how'], ['early', 'drop'])
    """
    words = query.casefold().replace("?", " ").replace("_", " ").split()
    return [word for word in words if word not in _FILLING] or words


def count_text(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> count_text(1, "sub-graph"), count_text(1200, "sub-graph")
    ('1 sub-graph', '1,200 sub-graphs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def cut_inside(text: str, longest: int) -> str:
    """Return the text, or both its ends: names of one origin often differ in the last words only.

    >>> cut_inside("vision on eight servers", 12), cut_inside("vision", 12)
    ('visio…ervers', 'vision')
    """
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[half + 1 - longest :]}"


def ordinal(number: int) -> str:
    """Return a place as English writes it.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '113th']
    """
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def join_words(names: Sequence[str]) -> str:
    """All names in a sentence.

    >>> join_words(["a"]), join_words(["a", "b", "c"]), join_words([])
    ('a', 'a, b and c', 'none')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def not_clear(level: Sequence[str]) -> str:
    """Return the end of a clause on the best of several, where its lead over some is not clear.

    >>> not_clear(["a", "b"]), not_clear([])
    (', without a clear difference from a and b', '')
    """
    return f", without a clear difference from {join_words(level)}" if level else ""


def verb(names: Sequence[object], one: str = "is", many: str = "are") -> str:
    """Return the word that goes with the names: one or several.

    >>> verb(["a"], "holds", "hold"), verb(["a", "b"])
    ('holds', 'are')
    """
    return one if len(names) == 1 else many
