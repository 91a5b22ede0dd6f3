"""ONNX Runtime's profile of a model: seconds of every node, run by run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from numpy.typing import NDArray

from nona.errors import CostError

_SUFFIX = "_kernel_time"


def onnx_runtime() -> Any:
    """The module; a clear error where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        raise CostError(
            "Measuring needs ONNX Runtime, which is not installed; run: pip install 'nona-planner[measure]'."
        ) from None
    return onnxruntime


def profile(
    path: Path, inputs: Mapping[str, NDArray[Any]], folder: Path, threads: int, runs: int
) -> dict[str, list[float]]:
    """Node name → seconds of each of ``runs`` runs, with graph optimisation off.

    Without optimisation every node runs by itself and keeps its name.
    """
    ort = onnx_runtime()
    options = _options(ort, threads)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    for _ in range(runs):
        session.run(None, dict(inputs))
    events = json.loads(Path(session.end_profiling()).read_text("utf-8"))
    return node_times(events)


def wall_s(path: Path, inputs: Mapping[str, NDArray[Any]], threads: int, warmup: int, runs: int) -> float:
    """Median seconds of a whole run with all graph optimisations."""
    return median(walls_s(path, inputs, threads, warmup, runs))


def walls_s(
    path: Path, inputs: Mapping[str, NDArray[Any]], threads: int, warmup: int, runs: int
) -> list[float]:
    """Seconds of each whole run after the warm-up, with all graph optimisations."""
    ort = onnx_runtime()
    session = ort.InferenceSession(str(path), _options(ort, threads), providers=["CPUExecutionProvider"])
    seconds = []
    for _ in range(warmup + runs):
        start = time.perf_counter()
        session.run(None, dict(inputs))
        seconds.append(time.perf_counter() - start)
    return seconds[warmup:]


def node_times(events: Iterable[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Node name → seconds of each run, from the events of a profile.

    >>> node_times([{"cat": "Node", "name": "conv1_kernel_time", "dur": 12, "ts": 5}])
    {'conv1': [1.2e-05]}
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for event in events:
        name = str(event.get("name", ""))
        if event.get("cat") == "Node" and name.endswith(_SUFFIX):
            found.setdefault(name.removesuffix(_SUFFIX), []).append((event["ts"], event["dur"] / 1e6))
    return {name: [s for _, s in sorted(entries)] for name, entries in found.items()}


def _options(ort: Any, threads: int) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options
