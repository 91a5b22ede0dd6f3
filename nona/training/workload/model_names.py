"""How jobs name what they train: a model, and the size of its batches."""

from __future__ import annotations

import re

_BATCHED = re.compile(r"(.+) \(batch size (\d{1,6})\)")


def batch_of(name: str) -> tuple[str, int | None]:
    """A model's own name and its batch size, ``None`` where the name has none.

    >>> batch_of("resnet50 (batch size 64)"), batch_of("A3C")
    (('resnet50', 64), ('A3C', None))
    """
    match = _BATCHED.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)


def with_batch(model: str, batch: int | str | None) -> str:
    """The name of a model at a batch size.

    >>> with_batch("LM", 5), with_batch("A3C", None), with_batch("A3C", "")
    ('LM (batch size 5)', 'A3C', 'A3C')
    """
    return f"{model} (batch size {batch})" if batch else model
