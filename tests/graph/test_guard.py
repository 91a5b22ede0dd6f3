"""The guarded child process: whatever happens inside, one line comes out and the next file is read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from onnx_cases import model, relu

from nona.errors import GraphError
from nona.graph.guarded import guard
from nona.graph.guarded.child import PIECE, in_pieces
from nona.graph.guarded.guard import GuardedWorker, Limits, parse_guarded

GOOD = model([relu("x", "y")])
HEAVY = GOOD + b"\x3a\x80\x80\x80\x08" + b"\x0a\x00" * 8_388_608  # 8 million empty nodes


def child_that_runs(code: str):
    def start(limits: Limits) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    return start


READ = "import sys; q = sys.stdin.buffer.readline(); "


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            READ + "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "crashed or ran out of memory (SIGSEGV)",
        ),
        (READ + "import os; os.abort()", "crashed or ran out of memory (SIGABRT)"),
        ("raise SystemExit(3)", "(status 3)"),
        (READ + "print('rubbish', flush=True)", "the file is damaged"),
        (READ + "print(10**15, flush=True)", "the file is damaged"),
        (READ + "print(100, flush=True); print('short')", "the file is damaged"),
        (READ + "print(4, flush=True); print('null')", "gave an invalid answer"),
        (READ + "print(9, flush=True); print('{\"a\":123}')", "gave an invalid answer"),
        (READ + "print(9, flush=True); print('{[{[{[{[{')", "gave an invalid answer"),
        (READ + 'print(24, flush=True); print(\'{"document":{}}\\n["a",[]]\')', "gave an invalid answer"),
        (READ + "print(17, flush=True); print('{\"document\":{}}\\n7')", "gave an invalid answer"),
    ],
)
def test_a_child_that_dies_or_lies_gives_one_line(code, says, monkeypatch) -> None:
    monkeypatch.setattr(guard, "_start", child_that_runs(code))
    with pytest.raises(GraphError) as caught:
        parse_guarded("onnx", GOOD, "m.onnx")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_clock_stops_a_child_that_hangs(monkeypatch) -> None:
    monkeypatch.setattr(guard, "_start", child_that_runs("import time; time.sleep(60)"))
    before = time.monotonic()
    with pytest.raises(GraphError, match=r"longer than 0\.3 s"):
        parse_guarded("onnx", HEAVY, "m.onnx", limits=Limits(wall_s=0.3))
    assert time.monotonic() - before < 30


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limits are those of Linux")


@linux
def test_memory_is_limited() -> None:
    with pytest.raises(GraphError, match=r"memory"):
        parse_guarded("onnx", HEAVY, "m.onnx", limits=Limits(memory_bytes=600_000_000))


@linux
def test_processor_time_is_limited(monkeypatch) -> None:
    code = "from nona.graph.guarded.child import limit_files_and_time as f; f(0)\nwhile True: pass"
    monkeypatch.setattr(guard, "_start", child_that_runs(code))
    with pytest.raises(GraphError, match=r"more than 30 s of processor time"):
        parse_guarded("onnx", GOOD, "m.onnx")


def test_a_worker_reads_on_after_a_crash(monkeypatch) -> None:
    with GuardedWorker() as worker:
        assert worker.parse("onnx", GOOD, "m.onnx")["nodes"][0]["kind"] == "Relu"
        first = worker._child
        with pytest.raises(GraphError, match="cut short"):
            worker.parse("onnx", GOOD[:-9], "m.onnx")
        assert worker._child is first, "a refused file is no crash"
        os.kill(first.pid, 9)
        with pytest.raises(GraphError, match="SIGKILL"):
            worker.parse("onnx", GOOD, "m.onnx")
        assert worker.parse("dot", b"digraph { a -> b }", "m.dot")["nodes"] == [{"id": "a"}, {"id": "b"}]
        last = worker._child
    assert last.poll() is not None, "no child is left behind"


def test_an_unforeseen_error_is_one_line_too() -> None:
    from nona.graph.guarded.child import UNEXPECTED, answer

    question = {"reader": "json", "filename": "m.json", "symbols": {}, "bytes": 1}
    assert UNEXPECTED.encode() in answer(question, None)


def test_the_child_inherits_no_secrets(monkeypatch) -> None:
    seen = {}
    real = subprocess.Popen

    def spy(*arguments, **options):
        seen.update(options["env"])
        return real(*arguments, **options)

    monkeypatch.setenv("SECRET_TOKEN", "do not pass on")
    monkeypatch.setattr(guard.subprocess, "Popen", spy)
    parse_guarded("onnx", GOOD, "m.onnx")
    assert "SECRET_TOKEN" not in seen
    assert "PYTHONPATH" in seen


def test_the_child_imports_only_what_it_needs() -> None:
    code = (
        "import sys; sys.argv = ['x', '{}']; import nona.graph.guarded.child, nona.graph.onnx.reader; "
        "heavy = {'streamlit', 'scipy', 'plotly', 'pandas', 'networkx', 'numba', 'pygraphviz', 'simpy'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("length", [0, 1, PIECE, PIECE + 1, 3 * PIECE + 7])
def test_a_document_in_pieces_is_the_document_and_no_line_is_long(length: int) -> None:
    document = {"graph": {"name": "g"}, "nodes": [{"id": str(i)} for i in range(length)], "edges": []}
    document["graph"]["tensors"] = {f"t{i}": [i] for i in range(length)}
    written = in_pieces(document)
    assert guard._document(written, "m.onnx") == document
    assert all(len(json.loads(line)[1]) <= PIECE for line in written.split(b"\n")[1:])
    assert len(written.split(b"\n")) == 1 + (2 * -(-length // PIECE) if length > PIECE else 0)
