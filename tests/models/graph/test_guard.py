"""The guarded child process: whatever happens inside, one line comes out and the next file is read."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from graph_cases import model, refusal, relu

from nona.core.errors import GraphError
from nona.models.graph import guard
from nona.models.graph.guard import ChildLimits, GuardedWorker, parse_guarded
from nona.models.graph.guard_columns import PIECE, from_lines, to_lines
from nona.models.graph.node_link import from_node_link
from nona.models.graph.readers import read_model
from nona.scenario.sample_files import load_sample, sample_names

GOOD = model([relu("x", "y")])
HEAVY = GOOD + b"\x3a\x80\x80\x80\x08" + b"\x0a\x00" * 8_388_608  # 8 million empty nodes


def child_that_runs(code):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return lambda limits: subprocess.Popen([sys.executable, "-c", code], **pipes)


SAY = "import os, signal, sys; q = sys.stdin.buffer.readline(); say = lambda *a: print(*a, sep=chr(10)); "
DAMAGED, INVALID = "the file is damaged", "gave an invalid answer"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed or ran out of memory (SIGSEGV)"),
        ("os.abort()", "crashed or ran out of memory (SIGABRT)"),
        ("raise SystemExit(3)", "(status 3)"),
        ("print('rubbish')", DAMAGED),
        ("print(10**15)", DAMAGED),
        ("say(100, 'short')", DAMAGED),
        ("say(4, 'null')", INVALID),
        ("say(9, '{\"a\":123}')", INVALID),
        ("say(9, '{[{[{[{[{')", INVALID),
        ('say(24, \'{"document":{}}\\n["a",[]]\')', INVALID),
        ("say(17, '{\"document\":{}}\\n7')", INVALID),
    ],
)
def test_a_child_that_dies_or_lies_gives_one_line(code, says, monkeypatch):
    monkeypatch.setattr(guard, "_start", child_that_runs(SAY + code))
    assert says in refusal(parse_guarded, "onnx", GOOD, "m.onnx")


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limits are those of Linux")


SPIN = "from nona.models.graph.guard_child import _limit_files_and_time as f; f(0)\nwhile True: pass"


@linux
@pytest.mark.parametrize(
    ("code", "limits", "says"),
    [
        ("import time; time.sleep(600)", ChildLimits(wall_s=0.3), "longer than 0.3 s"),
        (SPIN, ChildLimits(), "more than 10 s of processor time"),
        ("", ChildLimits(memory_bytes=600_000_000), "memory"),
    ],
)
def test_clock_processor_time_and_memory_are_limited(code, limits, says, monkeypatch):
    if code:
        monkeypatch.setattr(guard, "_start", child_that_runs(code))
    assert says in refusal(parse_guarded, "onnx", HEAVY, "m.onnx", limits=limits)


def test_a_worker_reads_on_after_a_crash():
    with GuardedWorker() as worker:
        assert worker.parse("onnx", GOOD, "m.onnx").operators[0].kind == "Relu"
        first = worker._child
        assert "cut short" in refusal(worker.parse, "onnx", GOOD[:-9], "m.onnx")
        assert worker._child is first, "a refused file is no crash"
        os.kill(first.pid, 9)
        assert "SIGKILL" in refusal(worker.parse, "onnx", GOOD, "m.onnx")
        assert worker.parse("dot", b"digraph { a -> b }", "m.dot").edges[0].target == "b"
        last = worker._child
    assert last.poll() is not None, "no child is left behind"


def test_an_unforeseen_error_is_one_line_too():
    from nona.models.graph.guard_child import UNEXPECTED, answer

    question = {"reader": "json", "filename": "m.json", "symbols": {}, "bytes": 1}
    assert UNEXPECTED.encode() in answer(question, None)


@linux
def test_the_child_inherits_no_secrets(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "do not pass on")
    with GuardedWorker() as worker:
        worker.parse("onnx", GOOD, "m.onnx")
        passed = Path(f"/proc/{worker._child.pid}/environ").read_text()
    assert "SECRET_TOKEN" not in passed
    assert "PYTHONPATH" in passed


def test_the_child_imports_only_what_it_needs():
    code = (
        "import sys; sys.argv = ['x', '{}']; "
        "import nona.models.graph.guard_child, nona.models.graph.onnx_reader; "
        "heavy = {'streamlit', 'scipy', 'plotly', 'pandas', 'networkx', 'numba', 'pygraphviz', 'simpy'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def _rich(length):
    node = {"compute_ms": {"t4": 1, "v100": 2.5}, "attributes": {"k": [1, 2]}}
    nodes = [{"id": f"n{i}"} | node for i in range(length + 1)]
    nodes[0] |= {"macs": 3, "scope": "a/b", "bound": "memory"}
    edges = [{"source": f"n{i}", "target": f"n{i + 1}", "bytes": i} for i in range(length)]
    return from_node_link({"graph": {"name": "Größe", "device": "any"}, "nodes": nodes, "edges": edges})


@pytest.mark.parametrize("length", [0, 1, PIECE, 3 * PIECE + 7])
def test_a_graph_in_lines_is_the_graph_and_no_line_is_long(length):
    graph = _rich(length)
    written = to_lines(graph)
    assert from_lines(written) == graph
    assert list(from_lines(written).tensors) == list(graph.tensors)
    assert all(len(json.loads(line)[1]) <= PIECE for line in written.split(b"\n")[1:])


@pytest.mark.parametrize("name", sample_names())
def test_every_sample_survives_the_way_out_of_the_child(name):
    assert from_lines(to_lines(load_sample(name))) == load_sample(name)


def _altered(lines, rng):
    """An answer with one value put in place of another."""
    at = rng.randrange(len(lines))
    reply = json.loads(lines[at])
    place = reply
    while isinstance(place, list | dict) and place:
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        inside = place[key]
        if not isinstance(inside, list | dict) or not inside or rng.random() < 0.2:
            place[key] = rng.choice([None, -1, 10**9, "x", [], {}, [[]], 1.5, -2.0, True])
            break
        place = inside
    return b"\n".join([*lines[:at], json.dumps(reply).encode(), *lines[at + 1 :]])


def test_an_answer_that_was_tampered_with_is_a_graph_or_one_line():
    lines, rng = to_lines(_rich(5)).split(b"\n"), random.Random(1)
    refused = 0
    for _ in range(500):
        try:
            guard._graph(_altered(lines, rng), "m.onnx")
        except GraphError as error:
            refused += "\n" not in str(error)
    assert 250 < refused < 500


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("m.json", b'{"nodes": [{"id": "a"}], "edges": [' + b'{"source": 1, "target": 1},' * 3 + b"]}"),
        ("m.json", b'{"nodes": [{"id": "a"}]}'),
        ("m.onnx", GOOD),
        ("m.dot", b"digraph { a -> b }"),
        ("m.graphml", b"<graphml><graph><node id='a'/></graph></graphml>"),
    ],
)
def test_every_format_is_read_in_a_child(name, data, monkeypatch):
    monkeypatch.setattr(guard, "_start", child_that_runs("import sys; sys.exit(7)"))
    assert "status 7" in refusal(read_model, data, name)


def test_edges_between_two_nodes_take_time_in_proportion():
    edge = {"source": 0, "target": 1}
    begin = time.process_time()
    graph = from_node_link({"nodes": [{"id": 0}, {"id": 1}], "edges": [edge] * 20_000})
    assert time.process_time() - begin < 3  # trying all names of before took 20,000² / 2 steps
    assert graph.edges[-1].tensor.startswith("0→1 #")


ORPHAN = """
import sys, threading, time
from nona.models.graph.guard import GuardedWorker
worker = GuardedWorker()
worker.parse("dot", b"digraph { a -> b }", "m.dot")
print(worker._child.pid, flush=True)
time.sleep(60)
"""


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("without", ["", "child._ask_the_system = lambda: None", "child._watch = id"])
def test_a_child_ends_with_its_parent(number, without, tmp_path):
    code = ORPHAN
    if without:  # each of the two ways alone
        start = "import nona.models.graph.guard_child as child\n"
        (tmp_path / "own.py").write_text(f"{start}{without}\nchild.main()")
        code = code.replace(
            "worker = ",
            f"""
import json, os, subprocess
from dataclasses import asdict
from nona.models.graph import guard
guard._start = lambda limits: subprocess.Popen([sys.executable, {str(tmp_path / "own.py")!r},
    json.dumps({{**asdict(limits), "parent": os.getpid()}})], stdin=-1, stdout=-1)
worker = """,
        )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as parent:
        child = int(parent.stdout.readline())
        os.kill(parent.pid, number)
        parent.wait()
        end = time.monotonic() + 60
        while _lives(child) and time.monotonic() < end:
            time.sleep(0.02)
        assert not _lives(child)
        assert parent.stderr.read() == b""


def _lives(pid):
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
