"""The registry of file formats: name → reader, imported when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from nona.core.errors import GraphError
from nona.core.registry import Registry
from nona.models.graph.text import one_line, quote

Document = dict[str, Any]
"""A graph as node-link data: what every reader makes of its format; see ``node_link``."""


@dataclass(frozen=True, slots=True)
class Reader:
    """One file format.

    ``name``: short name; it becomes ``ModelGraph.source_format``.
    ``suffixes``: file extensions, lower case, with the dot.
    ``guarded``: True if files of unknown origin are read in a guarded child process, as for every shipped
        format. The child knows the shipped readers only.
    ``module``: module with ``read_document(data: bytes, filename: str, symbols: Mapping[str, int]) ->
        Document``; it raises GraphError for what it cannot read.
    ``title``: how people call the format.
    ``keeps_state``: True if the parser is unsafe to use again after it refused a file.
    """

    name: str
    suffixes: tuple[str, ...]
    guarded: bool
    module: str
    title: str
    keeps_state: bool = False

    def read(self, data: bytes, filename: str, symbols: Mapping[str, int]) -> Document:
        """Return the document in a file; errors of the format's module become :class:`GraphError`."""
        try:
            document: Document = import_module(self.module).read_document(data, filename, symbols)
        except RecursionError:
            raise GraphError(f"File {quote(filename)}: it is nested too deeply; flatten it.") from None
        except MemoryError:
            raise GraphError(f"File {quote(filename)}: it needs too much memory; make it smaller.") from None
        except ImportError as error:
            raise GraphError(
                f"File {quote(filename)}: {self.title} cannot be read here ({one_line(error)}); "
                "install the missing package."
            ) from None
        return document


READERS: Registry[Reader] = Registry(
    "Reader",
    (
        Reader("onnx", (".onnx",), True, "nona.models.graph.onnx_reader", "ONNX"),
        Reader("json", (".json",), True, "nona.models.graph.node_link", "node-link JSON"),
        Reader("dot", (".dot", ".gv"), True, "nona.models.graph.dot", "DOT", keeps_state=True),
        Reader("graphml", (".graphml",), True, "nona.models.graph.graphml", "GraphML"),
    ),
    GraphError,
)
