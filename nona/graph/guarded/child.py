"""The child process of :mod:`nona.graph.guarded.guard`: limit oneself, then parse what arrives on stdin.

Per file it reads one line of JSON and the file's bytes, and writes one line with a length and that
many bytes of JSON (:func:`in_pieces`). Only the module of the reader that is asked for is imported.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from itertools import islice
from typing import Any

from nona.errors import NonaError
from nona.graph.collector import paused_collector
from nona.graph.limits import MAX_BYTES
from nona.graph.registry import READERS
from nona.graph.symbols import MissingDimensions
from nona.graph.text import one_line, quote

PIECE = 1000  # entries of a list or mapping in one line
UNEXPECTED = "cannot be understood"
"""Marks the message for an error that no reader foresaw."""


def limit(limits: Mapping[str, float]) -> None:
    """Cap this process's memory and core dumps, where the system can."""
    try:
        import resource
    except ImportError:  # not a Unix system: the parent's wall-clock limit remains
        return
    memory = int(limits["memory_bytes"])
    for kind, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory)):
        _lower(kind, value)


def limit_files_and_time(cpu_s: int) -> None:
    """No large files, few open ones, and ``cpu_s`` more seconds of processor time."""
    try:
        import resource
    except ImportError:
        return
    _lower(resource.RLIMIT_FSIZE, 2 * MAX_BYTES)  # the DOT library reads from a temporary file
    _lower(resource.RLIMIT_NOFILE, 64)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime) + 1 + cpu_s
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _lower(kind: int, value: int) -> None:
    import resource

    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(kind, (value, value))
    except (ValueError, OSError):
        return  # some systems do not know this limit; the others still hold


def answer(question: Mapping[str, Any], data: bytes) -> bytes:
    """What the reader makes of ``data``, as JSON: a document, or an error of one line."""
    filename = str(question["filename"])
    try:
        document = READERS[question["reader"]].read(data, filename, question["symbols"])
        return in_pieces(document)
    except MissingDimensions as error:
        return json.dumps({"error": str(error), "missing": error.names}).encode()
    except NonaError as error:
        return json.dumps({"error": str(error)}).encode()
    except MemoryError:
        return json.dumps(
            {"error": f"File {quote(filename)}: it needs too much memory; make it smaller."}
        ).encode()
    except Exception as error:  # the process boundary: whatever a parser throws must not be silent
        reason = one_line(f"{type(error).__name__}: {error}", 160)
        return json.dumps(
            {"error": f"File {quote(filename)}: {UNEXPECTED} ({reason}); export it again."}
        ).encode()


def in_pieces(document: Mapping[str, Any]) -> bytes:
    """The document as lines of JSON: all but its long lists and mappings, then these, piece by piece.

    Whoever reads it takes one line after the other, so that a server's other threads get their turns.

    >>> print(in_pieces({"name": "g", "nodes": list(range(PIECE + 1))}).decode()[:40])
    {"document":{"name":"g","nodes":[]}}
    [["
    """
    pieces: list[Any] = []
    lines = [{"document": _without_long(document, [], pieces)}, *pieces]
    return b"\n".join(json.dumps(line, separators=(",", ":")).encode() for line in lines)


def _without_long(value: Any, path: list[str], pieces: list[Any]) -> Any:
    """The value with its long lists and mappings empty, and what was in them added to ``pieces``."""
    if not isinstance(value, list | Mapping):
        return value
    if len(value) > PIECE:
        for begin in range(0, len(value), PIECE):
            some = islice(value.items() if isinstance(value, Mapping) else value, begin, begin + PIECE)
            pieces.append([path, dict(some) if isinstance(value, Mapping) else list(some)])
        return {} if isinstance(value, Mapping) else []
    if isinstance(value, Mapping):
        return {key: _without_long(inside, [*path, key], pieces) for key, inside in value.items()}
    return value


def main() -> int:
    """Serve files until stdin ends."""
    limits = json.loads(sys.argv[1])
    limit(limits)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while line := source.readline():
        question = json.loads(line)
        reader = READERS[question["reader"]]
        with suppress(ImportError):  # reading reports it
            import_module(reader.module)
        limit_files_and_time(int(limits["cpu_s"]))
        data = source.read(question["bytes"])
        with paused_collector():
            reply = answer(question, data)
        sink.write(b"%d\n" % len(reply))
        sink.write(reply)
        sink.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
