"""File names that are safe on every system: no folder, plain characters, one file each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

LONGEST = 60  # characters
_UNSAFE = re.compile(r"[^\w.+ -]+")


def safe_name(name: str) -> str:
    """The last part of a path in plain characters; at most 60 of them, never hidden.

    >>> safe_name("C:\\\\models\\\\<b>net</b>.onnx"), safe_name("..")
    ('b_.onnx', 'file')
    """
    base = PurePath(name.replace("\\", "/")).name
    return _UNSAFE.sub("_", base)[-LONGEST:].strip(". ") or "file"


def unused_name(name: str, taken: Iterable[str]) -> str:
    """A safe name like ``name`` that is not among those ``taken``, whatever the case of letters.

    >>> unused_name("a/net.onnx", []), unused_name("b/Net.onnx", ["net.onnx"])
    ('net.onnx', '2-Net.onnx')
    """
    plain, used = safe_name(name), {t.casefold() for t in taken}
    found, number = plain, 1
    while found.casefold() in used:
        number += 1
        found = f"{number}-{plain[-(LONGEST - 8) :]}"
    return found
