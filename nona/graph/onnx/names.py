"""Ids, module scopes and small attributes of ONNX nodes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from nona.graph.registry import Document

MAX_TEXT = 200
MAX_ITEMS = 64
_SCOPES = "pkg.torch.onnx.name_scopes"  # written by PyTorch's exporter: the module path as a list


def all_text(names: Iterable[object]) -> None:
    """Raise UnicodeError unless all names are texts: protobuf gives bytes for what is not UTF-8."""
    if not all(type(name) is str for name in names):
        raise UnicodeError("a name is not UTF-8")


def unique_ids(protos: Sequence[Any]) -> list[str]:
    """One id per node: its name where that is given and new, else made so.

    >>> from types import SimpleNamespace as Node
    >>> unique_ids([Node(name="a", op_type="Relu"), Node(name="a", op_type="Relu"),
    ...             Node(name="", op_type="Add")])
    ['a', 'a#2', 'Add_2']
    """
    names = [proto.name for proto in protos]
    all_text(names)
    taken = set(names)
    used: set[str] = set()
    counts: dict[str, int] = {}
    ids = []
    for place, (proto, name) in enumerate(zip(protos, names, strict=True)):
        base = choice = name or f"{proto.op_type or 'Node'}_{place}"
        while choice in used or (choice in taken and choice != name):
            counts[base] = counts.get(base, 1) + 1
            choice = f"{base}#{counts[base]}"
        used.add(choice)
        ids.append(choice)
    return ids


def scope_of(proto: Any, name: str) -> str:
    """The module that a node belongs to, ``layer1.0.bn1`` for example; ``""`` where unknown.

    Exporters put it before the last slash of the name; PyTorch also into the node's metadata.
    """
    scope = name.strip("/").rpartition("/")[0]
    if not scope and proto.metadata_props:
        for entry in proto.metadata_props:
            if entry.key == _SCOPES and isinstance(entry.value, str):
                path = re.findall(r"'([^']*)'", entry.value)
                scope = path[-2] if len(path) > 1 else ""
    return scope if scope.isprintable() else ""


def small_attributes(proto: Any) -> Document:
    """The attributes that are numbers, texts or short lists of them; tensors and bodies are left out."""
    found: Document = {}
    for attribute in proto.attribute:
        kind = attribute.type
        value: object = None
        if kind == 2:
            value = attribute.i
        elif kind == 7:
            value = list(attribute.ints) if len(attribute.ints) <= MAX_ITEMS else None
        elif kind == 1:
            value = attribute.f if math.isfinite(attribute.f) else None
        elif kind == 3:
            value = _text(attribute.s)
        elif kind == 6 and len(attribute.floats) <= MAX_ITEMS:
            value = list(attribute.floats) if all(map(math.isfinite, attribute.floats)) else None
        elif kind == 8 and len(attribute.strings) <= MAX_ITEMS:
            texts = [_text(s) for s in attribute.strings]
            value = None if None in texts else texts
        if value is not None and isinstance(attribute.name, str):
            found[attribute.name] = value
    return found


def _text(raw: bytes) -> str | None:
    text = raw[: MAX_TEXT + 1].decode("utf-8", "replace")
    return text if len(raw) <= MAX_TEXT and text.isprintable() else None
