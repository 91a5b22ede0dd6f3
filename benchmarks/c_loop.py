"""The plain C event loop of ``event_loop.c``: compiled where it runs, called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nona.queries.simulation.workload import Workload, make_plan
from nona.queries.system import System

SOURCE = Path(__file__).with_name("event_loop.c")
TAIL = 1.2  # so many times the measured jobs are drawn: the last measured ones meet later ones too
Numbers = NDArray[np.float64] | NDArray[np.int64]


def _fields(*names: str) -> list[tuple[str, type]]:
    return [(n, ctypes.c_int64 if n in ("n", "uniforms") else ctypes.c_void_p) for n in names]


class _Graphs(ctypes.Structure):
    _fields_ = _fields(
        "task_first", "time_s", "inputs", "edge_first", "edge_target", "edge_number", "edge_work_s"
    )


class _Jobs(ctypes.Structure):
    _fields_ = _fields("n", "arrival_s", "query", "service_first", "service", "uniform", "uniforms")


class CLoop:
    """Executors of one server each, a FIFO link without latency, random placement, no background."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.tasks = [len(q.tasks) for q in system.queries]
        self._graph_arrays = _graphs(system)
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise FileNotFoundError("no C compiler (cc, gcc or clang) on the path")
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "event_loop.so"
            subprocess.run([compiler, "-O3", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
            self._run = ctypes.CDLL(str(library)).run  # it stays loaded when the file is gone
        self._run.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 3 + [ctypes.c_void_p]

    def draw(self, jobs: int) -> list[Numbers]:
        """All random numbers of a run: arrival, class, first draw, draws, uniforms."""
        workload = Workload(self.system, 0, max(self.tasks))
        chunks, drawn, offset = [], 0, 0
        services = []
        for chunk in workload.chunks():
            chunks.append((chunk.arrival_s, chunk.query, chunk.offsets + offset, chunk.uniforms))
            services.append(chunk.services)
            drawn, offset = drawn + len(chunk.query), offset + len(chunk.services)
            if drawn >= TAIL * jobs + 1000:
                break
        arrival, query, first, uniforms = (np.concatenate(c) for c in zip(*chunks, strict=True))
        return [arrival, query, first, np.concatenate(services), uniforms]

    def run(self, drawn: list[Numbers], jobs: int) -> NDArray[np.float64]:
        """Completion instants of the first ``jobs`` jobs, seconds."""
        out = np.empty(len(drawn[0]))
        pointers = [a.ctypes.data for a in drawn]
        row = drawn[4].shape[1]
        given = _Jobs(len(drawn[0]), *pointers, row)
        graphs = _Graphs(*(a.ctypes.data for a in self._graph_arrays))
        failed = self._run(
            ctypes.byref(graphs),
            ctypes.byref(given),
            self.system.executors,
            max(self.tasks),
            jobs,
            out.ctypes.data,
        )
        if failed:
            raise RuntimeError("too many jobs are open at once" if failed == 1 else "the jobs do not suffice")
        return out[:jobs]


def _graphs(system: System) -> list[Numbers]:
    """The query classes as compressed rows, in the order of the C struct."""
    plans = [make_plan(q, system.capacity) for q in system.queries]
    rows = [outputs for p in plans for outputs in p.outputs]
    edges = [
        [(t, n, o.work_s) for o in row for t, n in zip(o.targets, o.numbers, strict=True)] for row in rows
    ]
    if any(len(o.targets) > 1 for row in rows for o in row):
        raise ValueError("a tensor is read by several tasks; the C loop sends one message per edge")
    flat = [e for row in edges for e in row]
    return [
        np.array([0, *accumulate(p.tasks for p in plans)], dtype=np.int64),
        np.array([t for p in plans for t in p.times[0]]),
        np.array([i for p in plans for i in p.inputs], dtype=np.int64),
        np.array([0, *accumulate(len(row) for row in edges)], dtype=np.int64),
        np.array([e[0] for e in flat], dtype=np.int64),
        np.array([e[1] for e in flat], dtype=np.int64),
        np.array([e[2] for e in flat], dtype=np.float64),
    ]
