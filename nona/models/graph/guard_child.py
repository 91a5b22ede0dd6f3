"""The child process of the guard: limit oneself, then read what arrives on stdin.

Per question it reads one line of JSON and as many bytes as that says, and writes one line with a length and
that many bytes of JSON: a file's graph (:mod:`nona.models.graph.guard_columns`), a file without its weights,
or the layout of a graph by Graphviz. Only the module of what is asked for is imported. It ends when its
parent does, also when that is killed.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO

from nona.core.errors import NonaError
from nona.models.graph.guard_columns import to_lines
from nona.models.graph.model import MissingDimensions
from nona.models.graph.node_link import graph_in, paused_collector
from nona.models.graph.registry import READERS
from nona.models.graph.text import MAX_BYTES, one_line, quote

UNEXPECTED = "cannot be understood"
"""Marks the message for an error that no reader foresaw."""
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9


def limit(limits: Mapping[str, float]) -> None:
    """Cap this process's memory and core dumps, where the system can."""
    try:
        import resource
    except ImportError:  # not a Unix system: the parent's wall-clock limit remains
        return
    memory = int(limits["memory_bytes"])
    for kind, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory)):
        _lower(kind, value)


def _limit_files_and_time(cpu_s: int) -> None:
    """No large files, few open ones, and at most ``cpu_s`` more seconds of processor time."""
    try:
        import resource
    except ImportError:
        return
    _lower(resource.RLIMIT_FSIZE, 2 * MAX_BYTES)  # the DOT library reads from a temporary file
    _lower(resource.RLIMIT_NOFILE, 64)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = max(1, int(usage.ru_utime + usage.ru_stime) + cpu_s)
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
    """Read ``data`` as the question says, and return JSON: a graph, or an error of one line."""
    filename = str(question["filename"])
    try:
        return to_lines(graph_in(READERS[question["reader"]], data, filename, question["symbols"]))
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


def slim(question: Mapping[str, Any], source: BinaryIO) -> bytes:
    """Return an ONNX file without its weights, or an error; what is left of the file is passed over."""
    from nona.models.graph.onnx_weights import without_weights

    end = _BoundedStream(source, question["bytes"])
    try:
        return without_weights(end, question["bytes"], str(question["filename"]))
    except NonaError as error:
        return json.dumps({"error": str(error)}).encode()
    finally:
        while end.read(1 << 20):
            pass


class _BoundedStream:
    """The next ``left`` bytes of a stream."""

    def __init__(self, stream: BinaryIO, left: int) -> None:
        self._stream, self._left = stream, left

    def read(self, size: int, /) -> bytes:
        piece = self._stream.read(min(size, self._left))
        self._left -= len(piece)
        return piece


def lay_out(graph: Mapping[str, Any]) -> bytes:
    """``{"x": […], "y": […]}`` in points, y downwards, of ``{"n": nodes, "edges": [[u, v], …]}``."""
    import pygraphviz

    drawn = pygraphviz.AGraph(directed=True, strict=True)
    drawn.graph_attr.update(
        nodesep="0.25", ranksep="0.3", splines="false", nslimit="2", nslimit1="2", mclimit="0.5"
    )
    drawn.node_attr.update(shape="box", width="1.2", height="0.35", fixedsize="true", label="")
    drawn.add_nodes_from(range(graph["n"]))
    drawn.add_edges_from(graph["edges"])
    drawn.layout(prog="dot")
    places = [drawn.get_node(v).attr["pos"].split(",") for v in range(graph["n"])]
    return json.dumps({"x": [float(x) for x, _ in places], "y": [-float(y) for _, y in places]}).encode()


def _reply(question: Mapping[str, Any], source: BinaryIO) -> bytes:
    if question.get("layout"):
        return lay_out(json.loads(source.read(question["bytes"])))
    if question.get("slim"):
        return slim(question, source)
    with paused_collector():
        return answer(question, source.read(question["bytes"]))


def end_with_parent(parent: int, pipe: int | None = None) -> None:
    """End this process as soon as ``parent`` is gone, or the thread there that started this process.

    ``pipe`` is one of which the parent holds the other end as long as it lives. Linux sends a signal.
    Elsewhere, and besides, a thread watches the pipe: the system closes it with the parent. Before that, one
    may already be an orphan: the parent has another number then.
    """
    if sys.platform.startswith("linux"):
        _set_limits()
    if hasattr(os, "getppid") and os.getppid() != parent:
        os._exit(1)
    if pipe is not None and hasattr(select, "poll"):
        threading.Thread(target=_watch, args=(pipe,), daemon=True, name="orphans").start()


def _set_limits() -> None:
    with suppress(ImportError, OSError, AttributeError):  # the watching thread remains
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def _watch(pipe: int) -> None:
    poll = select.poll()
    poll.register(pipe, 0)  # nothing but the end of the pipe
    poll.poll()
    os._exit(1)


def main() -> int:
    """Answer questions until stdin ends."""
    limits = json.loads(sys.argv[1])
    limit(limits)
    end_with_parent(int(limits["parent"]), sys.stdin.fileno())
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while line := source.readline():
        question = json.loads(line)
        with suppress(ImportError, KeyError):  # reading reports the first; a layout has no reader
            import_module(READERS[question["reader"]].module)
        _limit_files_and_time(int(limits["cpu_s"]))
        reply = _reply(question, source)
        sink.write(b"%d\n" % len(reply))
        sink.write(reply)
        sink.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
