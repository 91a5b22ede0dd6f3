"""Read files of unknown origin, and lay out what they hold, in a child process: a crash becomes one line.

The child (:mod:`nona.models.graph.guard_child`) has a cap on memory, on processor time and on wall-clock
time, the same for every format; it writes no core dump, and its error output goes nowhere. It parses the
file, checks what it holds, and answers in JSON, whose types and structure are checked again; nothing is
unpickled. It ends with this process, however that ends.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import IO, Any, BinaryIO

from nona import import_root
from nona.core.errors import GraphError
from nona.core.foreign import READ_CPU_S, READ_MEMORY_BYTES, READ_S
from nona.models.graph.guard_columns import from_lines
from nona.models.graph.model import MissingDimensions, ModelGraph
from nona.models.graph.registry import READERS
from nona.models.graph.text import one_line, quote

_MAX_ANSWER = 256_000_000
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "LC_ALL", "TMPDIR")


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """Limits of the child for one file: address space, processor time, wall-clock time."""

    memory_bytes: int = READ_MEMORY_BYTES
    cpu_s: int = READ_CPU_S
    wall_s: float = READ_S


def parse_guarded(
    reader: str,
    data: bytes,
    filename: str,
    symbols: Mapping[str, int] | None = None,
    limits: ChildLimits = ChildLimits(),
) -> ModelGraph:
    """Read a model file in a child process of its own.

    Parameters
    ----------
    reader : str
        Name of the reader.
    data : bytes
        Content of the file.
    filename : str
        How errors call the file.
    symbols : mapping of str to int, optional
        Numbers of symbolic dimensions.
    limits : ChildLimits, optional
        Time and memory of the child process.

    Returns
    -------
    ModelGraph
        The graph.

    Raises
    ------
    GraphError
        If the reader refuses the file, or the child crashes or hits a limit.
    MissingDimensions
        If the reader asks for symbolic dimensions.
    """
    with GuardedWorker(limits) as worker:
        return worker.parse(reader, data, filename, symbols)


def slim_guarded(stream: BinaryIO, size: int, filename: str, limits: ChildLimits = ChildLimits()) -> bytes:
    """Return an ONNX file of ``size`` bytes without its weights, read in a child process with limits."""
    with GuardedWorker(limits) as worker:
        return worker.slim(stream, size, filename)


class GuardedWorker:
    """A child process that parses one file after the other; after a crash the next file gets a new one.

    Not for use by several threads at once.
    """

    def __init__(self, limits: ChildLimits = ChildLimits()) -> None:
        self._limits = limits
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> GuardedWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the child process and close its pipes."""
        if self._child is not None:
            self._child.kill()
            for pipe in (self._child.stdin, self._child.stdout):
                _close(pipe)
            self._child.wait()
            self._child = None

    def parse(
        self, reader: str, data: bytes, filename: str, symbols: Mapping[str, int] | None = None
    ) -> ModelGraph:
        """Parse as :func:`parse_guarded`, in this worker's child."""
        question = {"reader": reader, "filename": filename, "symbols": dict(symbols or {})}
        answer = self._answer(question, io.BytesIO(data), len(data), filename)
        try:
            return _graph(answer, filename)
        except GraphError:
            if READERS[reader].keeps_state:
                self.close()
            raise

    def slim(self, stream: BinaryIO, size: int, filename: str) -> bytes:
        """Slim as :func:`slim_guarded`, in this worker's child."""
        answer = self._answer({"slim": True, "reader": "onnx", "filename": filename}, stream, size, filename)
        if answer.startswith(b'{"error":'):  # no ONNX file begins so
            raise GraphError(one_line(json.loads(answer)["error"], 1000))
        return answer

    def lay_out(self, nodes: int, edges: Sequence[tuple[int, int]]) -> tuple[list[float], list[float]]:
        """Where Graphviz puts the nodes of a graph, x and y in points, y downwards, in this worker's child.

        Raises ``GraphError`` where it does not within the limits.
        """
        graph = json.dumps({"n": nodes, "edges": edges}).encode()
        answer = self._answer({"layout": True}, io.BytesIO(graph), len(graph), "layout")
        with suppress(ValueError, KeyError):
            document = json.loads(answer)
            return document["x"], document["y"]
        raise GraphError("The layout by Graphviz is no JSON; draw the graph by layers.")

    def _answer(self, question: Mapping[str, Any], stream: BinaryIO, size: int, filename: str) -> bytes:
        child = self._child = self._child or _start(self._limits)
        late = threading.Event()

        def stop() -> None:
            late.set()
            child.kill()

        timer = threading.Timer(self._limits.wall_s, stop)
        timer.start()
        try:
            header = json.dumps({**question, "bytes": size}).encode() + b"\n"
            answer = _request(child, header, stream, size)
        finally:
            timer.cancel()
        if answer is None:
            child.wait()
            reason = self._reason(child.returncode, late.is_set())
            self.close()
            raise GraphError(
                f"File {quote(filename)}: {reason}; the file is damaged, hostile or too large: "
                "give a smaller one."
            )
        return answer

    def _reason(self, status: int, late: bool) -> str:
        if late:
            return f"reading it took longer than {self._limits.wall_s:g} s"
        if status == -getattr(signal, "SIGXCPU", 24):
            return f"reading it took more than {self._limits.cpu_s} s of processor time"
        try:
            cause = signal.Signals(-status).name if status < 0 else f"status {status}"
        except ValueError:
            cause = f"status {status}"
        return f"its parser crashed or ran out of memory ({cause})"


def _start(limits: ChildLimits) -> subprocess.Popen[bytes]:
    root = str(import_root())
    environment = {k: os.environ[k] for k in _KEPT_VARIABLES if k in os.environ}
    environment |= {"PYTHONPATH": root, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable,
        "-P",
        "-W",
        "ignore",
        "-m",
        "nona.models.graph.guard_child",
        json.dumps({**asdict(limits), "parent": os.getpid()}),
    ]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError as error:
        raise GraphError(
            f"The process that reads model files cannot start ({one_line(error)}); free some memory."
        ) from None


def _request(child: subprocess.Popen[bytes], header: bytes, stream: BinaryIO, size: int) -> bytes | None:
    """Return the child's answer, or ``None`` when it died first. The answer is a length line and a body."""
    if child.stdin is None or child.stdout is None:
        return None
    try:
        child.stdin.write(header)
        while size > 0 and (piece := stream.read(min(size, 1 << 20))):
            child.stdin.write(piece)
            size -= len(piece)
        if size > 0:  # the file has become shorter
            child.kill()
            return None
        child.stdin.flush()
        line = child.stdout.readline(32)
        length = int(line) if line.endswith(b"\n") and line[:-1].isdigit() else -1
        if not 0 <= length <= _MAX_ANSWER:
            child.kill()
            return None
        answer = child.stdout.read(length)
    except OSError:  # a broken pipe: the child has gone
        return None
    return answer if len(answer) == length else None


def _graph(answer: bytes, filename: str) -> ModelGraph:
    if not answer.startswith(b'{"error":'):
        with suppress(ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return from_lines(answer)
    reply: Any = None
    with suppress(ValueError, RecursionError):
        reply = json.loads(answer)
    if not isinstance(reply, dict) or "error" not in reply:
        raise GraphError(f"File {quote(filename)}: its parser gave an invalid answer; the file is damaged.")
    message = one_line(reply["error"], 1000)
    if isinstance(reply.get("missing"), list):
        raise MissingDimensions(message, [str(n) for n in reply["missing"]])
    raise GraphError(message)


def _close(pipe: IO[bytes] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except OSError:
        return  # unsent bytes of a pipe whose reader has gone
