"""Read a model file of any known format: checks, choice of the reader, one-line errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import BinaryIO

from nona.core.errors import GraphError
from nona.core.foreign import MOST_MODEL_BYTES, read_file
from nona.models.graph.guard import GuardedWorker, parse_guarded, slim_guarded
from nona.models.graph.model import ModelGraph, check_symbols
from nona.models.graph.node_link import graph_in, paused_collector
from nona.models.graph.registry import READERS, Reader
from nona.models.graph.text import MAX_BYTES, quote

_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive (PyTorch checkpoints are)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x89HDF", "an HDF5 file (Keras weights are)"),
    (b"\x89PNG", "a PNG picture"),
    (b"%PDF", "a PDF document"),
    (b"version https://git-lfs", "a Git LFS pointer instead of the file it stands for"),
    (b"GGUF", "a GGUF model"),
)
# possessive: no other way of reading the comments is tried, so the time is linear
_COMMENTS = rb"(?:\s|//[^\n]*\n|#[^\n]*\n|/\*(?:[^*]|\*(?!/))*+\*/)*+"
_DOT = re.compile(_COMMENTS + rb"(?:strict\s+)?(?:di)?graph\b[^;={]{0,200}+\{", re.I)


def _sniff(data: bytes) -> str:
    r"""Return the reader whose format ``data`` looks like, a description of a foreign one, or ``""``.

    >>> _sniff(b' {"nodes": []}'), _sniff(b"digraph { a -> b }"), _sniff(b"PK\x03\x04...")
    ('json', 'dot', 'a ZIP archive (PyTorch checkpoints are)')
    """
    head = data[:4096].removeprefix(b"\xef\xbb\xbf")
    text = head.lstrip()
    if text.startswith((b'{"', b"{\n", b"{ ", b"{\r", b"{}", b"{\t", b"[")) and 0 not in head:
        return "json"
    if text.startswith((b"<?xml", b"<graphml", b"<!DOCTYPE")):
        return "graphml"
    if _DOT.match(text):
        return "dot"
    if text.startswith(b"<") and 0 not in head:
        return "graphml"
    if head.startswith(b"\x80") and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a Python pickle (never opened here)"
    return next((what for magic, what in _FOREIGN if head.startswith(magic)), "")


_FOREIGN_SUFFIXES = {
    ".pt": "PyTorch",
    ".pth": "PyTorch",
    ".pt2": "PyTorch",
    ".bin": "raw weights",
    ".safetensors": "safetensors weights",
    ".h5": "Keras",
    ".keras": "Keras",
    ".pb": "TensorFlow",
    ".tflite": "TensorFlow Lite",
    ".gguf": "GGUF",
    ".ort": "ONNX Runtime's own format",
    ".pkl": "pickle",
}


def read_model(
    data: bytes,
    filename: str,
    *,
    symbols: Mapping[str, int] | None = None,
    guarded: bool = True,
    worker: GuardedWorker | None = None,
) -> ModelGraph:
    """Return the model graph that a file holds.

    Parameters
    ----------
    data : bytes
        The whole file, at most 64 MB.
    filename : str
        The file's name: the extension chooses the reader, the stem names the graph.
    symbols : mapping of str to int, optional
        Numbers for symbolic dimensions, by name.
    guarded : bool, default True
        Read in a child process with limits on time and memory. ``False`` is for shipped files only.
    worker : GuardedWorker, optional
        A running child process for guarded reading. By default each file gets its own.

    Returns
    -------
    ModelGraph
        The operators, and the tensors between them with their sizes in bytes.

    Raises
    ------
    MissingDimensions
        If the model has symbolic dimensions that ``symbols`` does not give.
    GraphError
        If the file cannot be read; one line says why and what to do.

    Examples
    --------
    >>> text = b'{"nodes": [{"id": "a"}, {"id": "b"}], "edges": [{"source": "a", "target": "b", "bytes": 8}]}'
    >>> read_model(text, "two.json").edges
    (Edge(source='a', target='b', tensor='a→b', size_bytes=8.0),)
    """
    reader = reader_for(filename)
    _check_bytes(data, filename, reader)
    bound = check_symbols(symbols)
    if not (guarded and reader.guarded):
        return graph_in(reader, data, filename, bound)
    parse = worker.parse if worker else parse_guarded
    with paused_collector():
        return parse(reader.name, data, filename, bound)


def reader_for(filename: str) -> Reader:
    """Return the reader for the extension of ``filename``."""
    suffix = PurePath(filename).suffix.lower()
    for reader in READERS.values():
        if suffix in reader.suffixes:
            return reader
    suffixes = ", ".join(s for r in READERS.values() for s in r.suffixes)
    foreign = _FOREIGN_SUFFIXES.get(suffix)
    what = f"the extension {suffix} ({foreign})" if foreign else f"the extension {quote(suffix)}"
    remedy = "export the model to ONNX" if foreign else "rename or convert the file"
    raise GraphError(f"File {quote(filename)}: {what} is not one of {suffixes}; {remedy}.")


def read_model_file(path: Path, what: str) -> bytes:
    """Return the file of a model; of a large ONNX file what is left without its weights.

    Raises ``FileNotFoundError`` when there is none; the caller knows the remedy. Raises ``GraphError`` when
    it is no regular file, too large, or cannot be read.
    """
    if path.suffix.lower() != ".onnx":
        return read_file(path, what, MAX_BYTES, GraphError)
    return read_file(
        path, what, MOST_MODEL_BYTES, GraphError, lambda file, size: slimmed(file, size, path.name)
    )


def slimmed(file: BinaryIO, size: int, filename: str) -> bytes:
    """Return the bytes of ``file``; of a large ONNX file what is left without its weights.

    Raises ``GraphError`` when it cannot be read.
    """
    large = size > LARGE_BYTES and filename.lower().endswith(".onnx")
    return slim_guarded(file, size, filename) if large else file.read(size)


LARGE_BYTES = 8_000_000


def _check_bytes(data: bytes, filename: str, reader: Reader) -> None:
    if len(data) > MAX_BYTES:
        raise GraphError(
            f"File {quote(filename)}: {len(data)} bytes is more than the limit of {MAX_BYTES}; "
            "make it smaller."
        )
    if not data.strip():
        raise GraphError(f"File {quote(filename)}: it is empty; give a file that holds a graph.")
    format_found = _sniff(data)
    if format_found and format_found != reader.name:
        other = READERS.get(format_found)
        what = (
            f"{other.title}; rename it to end in {other.suffixes[0]}"
            if other
            else f"{format_found}; give {reader.title}"
        )
        raise GraphError(f"File {quote(filename)}: it ends in {reader.suffixes[0]} but looks like {what}.")
