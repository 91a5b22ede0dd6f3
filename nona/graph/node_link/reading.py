"""The bytes of a file → the model graph that they hold, in this process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from nona.graph.collector import paused_collector
from nona.graph.model import ModelGraph
from nona.graph.node_link.document import from_node_link
from nona.graph.registry import Reader


def graph_in(reader: Reader, data: bytes, filename: str, symbols: Mapping[str, int]) -> ModelGraph:
    """The graph that ``reader`` finds in ``data``, checked; it has the file's name unless it has its own.

    Raises
    ------
    GraphError
        When the reader refuses the file, or what it holds is no graph.

    >>> from nona.graph.registry import READERS
    >>> graph_in(READERS["json"], b'{"nodes": [{"id": "a"}]}', "one.json", {}).name
    'one'
    """
    with paused_collector():
        document = reader.read(data, filename, symbols)
        graph = document.get("graph")
        named = isinstance(graph, Mapping) and isinstance(graph.get("name"), str)
        name = None if named else PurePath(filename).stem or "model"
        return from_node_link(document, name, source_format=reader.name)
