"""Node-link JSON text → document, with the traps of Python's parser closed."""

from __future__ import annotations

import json
from collections.abc import Mapping

from nona.errors import GraphError
from nona.graph.registry import Document
from nona.graph.text import one_line, quote

MAX_CONTAINERS = 4_000_000
MAX_ITEMS = 12_000_000


def read_document(data: bytes, filename: str, symbols: Mapping[str, int] | None = None) -> Document:
    """The node-link document in a JSON file (UTF-8). ``symbols`` are of no use to this format.

    Raises
    ------
    GraphError
        For text that is not JSON, ``NaN`` and ``Infinity``, more than 4 million objects or 12
        million values, and for JSON that is not an object.

    >>> read_document(b'{"nodes": [{"id": "a"}]}', "one.json")
    {'nodes': [{'id': 'a'}]}
    """
    where = f"File {quote(filename)}"
    if data.count(b"{") + data.count(b"[") > MAX_CONTAINERS or data.count(b",") > MAX_ITEMS:
        raise GraphError(
            f"{where}: it holds more than {MAX_CONTAINERS} objects or {MAX_ITEMS} values; "
            "give a smaller graph."
        )
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise GraphError(f"{where}: byte {error.start} is not UTF-8; save it as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise GraphError(
            f"{where}: it is not JSON, line {error.lineno} column {error.colno}: {one_line(error.msg)}; "
            "correct it."
        ) from None
    except RecursionError:
        raise GraphError(f"{where}: it is nested too deeply; flatten it.") from None
    except _NotANumberError as error:
        raise GraphError(f"{where}: {error} is not a number; give finite numbers.") from None
    except ValueError:  # Python refuses to convert whole numbers of thousands of digits
        raise GraphError(f"{where}: a number in it has thousands of digits; give ordinary ones.") from None
    if not isinstance(document, dict):
        raise GraphError(
            f"{where}: a graph is a JSON object with 'nodes' and 'edges', but this is {_kind(document)}; "
            "write it as NetworkX's node_link_data does."
        )
    return document


class _NotANumberError(Exception):
    pass


def _refuse(constant: str) -> float:
    raise _NotANumberError(constant)


def _kind(value: object) -> str:
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(
        type(value), "a number"
    )
