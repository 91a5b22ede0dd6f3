"""What to write instead of a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def instead(name: str, known: Iterable[str], most: int = 40) -> str:
    """The names most like a wrong one; the first of those that are known where none is like it.

    >>> instead("resnet19", ["resnet18", "gpt2"]), instead("x", ["a", "b", "c"], most=2)
    ('use resnet18', 'use one of a, b …')
    """
    names = list(known)
    near = get_close_matches(name[:60], names, n=2, cutoff=0.6)
    if near:
        return f"use {' or '.join(near)}"
    return f"use one of {', '.join(names[:most])}{' …' if len(names) > most else ''}"
