"""Attributes of DOT and GraphML, which are texts, → the values of a node-link document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from nona.errors import GraphError
from nona.graph.registry import Document
from nona.graph.text import quote

NUMBERS = frozenset({"compute_ms", "compute_s", "flops", "macs", "read_bytes", "write_bytes", "weight_bytes"})
NODE_TEXTS = frozenset({"kind", "scope", "device", "bound"})
NODE_KEYS = NUMBERS | NODE_TEXTS
EDGE_KEYS = frozenset({"bytes", "tensor"})
_NUMBER = re.compile(r"[+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d{1,4})?")
_WHOLE = re.compile(r"[+-]?\d{1,18}")


def number(text: str, owner: str, key: str) -> int | float:
    """The number that ``text`` writes; whether it is allowed is checked later.

    >>> number("1e6", "Node 'a'", "flops"), number(" 3 ", "Node 'a'", "flops")
    (1000000.0, 3)
    """
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        raise GraphError(
            f"{owner}: {key}={quote(text)} is not a number; give a number of at least 0, without a unit."
        )
    return int(text) if _WHOLE.fullmatch(text) else float(text)


def node_values(texts: Mapping[str, str], owner: str) -> Document:
    """The known attributes of a node. ``compute_ms`` may be a JSON map, device → number.

    >>> node_values({"compute_ms": '{"v100": 2, "t4": 5}', "kind": "Conv"}, "Node 'a'")
    {'compute_ms': {'v100': 2, 't4': 5}, 'kind': 'Conv'}
    """
    values: Document = {}
    for key, text in texts.items():
        if key in ("compute_ms", "compute_s") and text.lstrip().startswith("{"):
            values[key] = _map(text, owner, key)
        elif key in NUMBERS:
            values[key] = number(text, owner, key)
        else:
            values[key] = text
    return values


def edge_values(texts: Mapping[str, str], owner: str) -> Document:
    """The known attributes of an edge."""
    return {k: number(v, owner, k) if k == "bytes" else v for k, v in texts.items()}


def passed_over(ignored: Iterable[str]) -> list[str]:
    """One line on the attributes that were not read, if there are any.

    >>> passed_over(["speed"])
    ["Ignored attributes: 'speed'."]
    """
    names = sorted(ignored)
    listed = ", ".join(quote(n, 30) for n in names[:8]) + (" and more" if names[8:] else "")
    return [f"Ignored attributes: {listed}."] if names else []


def _map(text: str, owner: str, key: str) -> dict[str, int | float]:
    try:
        times = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        times = None
    if not isinstance(times, dict):
        raise GraphError(
            f'{owner}: {key}={quote(text)} is not a map; write {{"v100": 2, "t4": 5}}, device → number.'
        )
    return times
