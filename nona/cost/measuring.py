"""``nona measure``: a model's operators, or batches of it, timed on this machine.

Needs the optional extra ``nona-planner[measure]`` (ONNX Runtime). It runs the model it is given, so
it is for the command line and for models one trusts, never for uploads.

The profile has the layout of :mod:`nona.serverless.profiles`. It is measured on the CPU, so it has no
column for the GPU: its times hold for any part of one.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import os
import platform
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.errors import CostError
from nona.graph.model import ModelGraph
from nona.graph.readers import read_model, read_model_file

MOST_WEIGHT_BYTES = 6e9
_SCALE = 0.02
"""Standard deviation of random weights: small, so that deep networks neither vanish nor overflow."""


def fill_weights(model: Any, seed: int = 0) -> int:
    """Give every initialiser whose data is not in the file random values, in place.

    Variances of batch normalisation become positive; integers become 0. External data is never
    opened.

    Returns how many initialisers were filled.
    """
    from onnx import TensorProto, helper, numpy_helper

    missing = [t for t in model.graph.initializer if t.data_location == TensorProto.EXTERNAL]
    total = sum(
        float(np.prod(t.dims, dtype=float)) * helper.tensor_dtype_to_np_dtype(t.data_type).itemsize
        for t in missing
    )
    if total > MOST_WEIGHT_BYTES:
        raise CostError(
            f"Model {model.graph.name!r}: its weights take {total / 1e9:.1f} GB, more than the "
            f"{MOST_WEIGHT_BYTES / 1e9:g} GB that are filled in for a measurement; measure a smaller model."
        )
    positive = {n.input[4] for n in model.graph.node if n.op_type == "BatchNormalization"}
    rng = np.random.default_rng(seed)
    for tensor in missing:
        kind = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        values = _random(tuple(tensor.dims), kind, rng)
        if tensor.name in positive:
            values = (np.abs(values) + 1).astype(kind)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return len(missing)


def random_inputs(model: Any, symbols: Mapping[str, int], seed: int = 0) -> dict[str, NDArray[Any]]:
    """An array for every input of the model: random numbers, zeros for whole numbers, ones for bools."""
    from onnx import helper

    stored = {t.name for t in model.graph.initializer}
    rng = np.random.default_rng(seed)
    arrays = {}
    for value in model.graph.input:
        if value.name in stored:
            continue
        kind = value.type.tensor_type
        if not kind.HasField("shape"):
            raise CostError(f"Input {value.name!r}: it has no shape; export the model with one.")
        shape = tuple(_length(d, symbols, value.name) for d in kind.shape.dim)
        arrays[value.name] = _random(shape, helper.tensor_dtype_to_np_dtype(kind.elem_type), rng, 1.0)
    return arrays


def name_nodes(model: Any, graph: ModelGraph) -> None:
    """Name the nodes as the operators of ``graph``, so that a profile identifies them."""
    ids = {o.outputs[0]: o.id for o in graph.operators if o.outputs}
    for place, node in enumerate(model.graph.node):
        own = ids.get(node.output[0]) if node.output else None
        node.name = own or f"not-an-operator-{place}"


def save_model(model: Any, path: Path) -> None:
    """Write the model; weights beyond what one protobuf holds go to a file beside it."""
    import onnx

    large = sum(len(t.raw_data) for t in model.graph.initializer) > 1_000_000_000
    onnx.save_model(model, path, save_as_external_data=large, location="weights.bin")


def _length(dimension: Any, symbols: Mapping[str, int], name: str) -> int:
    if dimension.WhichOneof("value") == "dim_value":
        return int(dimension.dim_value)
    if dimension.dim_param in symbols:
        return symbols[dimension.dim_param]
    raise CostError(
        f"Input {name!r}: its size {dimension.dim_param or '?'!r} is symbolic; give a number for it."
    )


def _random(
    shape: tuple[int, ...], kind: np.dtype[Any], rng: np.random.Generator, scale: float = _SCALE
) -> NDArray[Any]:
    if kind == np.bool_:
        return np.ones(shape, kind)
    if np.issubdtype(kind, np.integer):
        return np.zeros(shape, kind)
    values: NDArray[Any] = (scale * rng.standard_normal(shape, dtype=np.float32)).astype(kind)
    return values


_SUFFIX = "_kernel_time"


def _onnx_runtime() -> Any:
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
    ort = _onnx_runtime()
    options = _options(ort, threads)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    for _ in range(runs):
        session.run(None, dict(inputs))
    events = json.loads(Path(session.end_profiling()).read_text("utf-8"))
    return node_times(events)


def _walls_s(
    path: Path, inputs: Mapping[str, NDArray[Any]], threads: int, warmup: int, runs: int
) -> list[float]:
    """Seconds of each whole run after the warm-up, with all graph optimisations."""
    ort = _onnx_runtime()
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
    runs: dict[str, list[tuple[float, float]]] = {}
    for event in events:
        name = str(event.get("name", ""))
        if event.get("cat") == "Node" and name.endswith(_SUFFIX):
            runs.setdefault(name.removesuffix(_SUFFIX), []).append((event["ts"], event["dur"] / 1e6))
    return {name: [s for _, s in sorted(entries)] for name, entries in runs.items()}


def _options(ort: Any, threads: int) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options


_SIDE = 1024
"""Side of the square product; the sum is over 16 times its elements, more than a cache holds."""


def device_name(threads: int) -> str:
    """A name for this machine's CPU with so many threads, such as ``cpu-amd-epyc-1t``."""
    slug = re.sub(r"[^a-z0-9]+", "-", _processor().lower()).strip("-")[:40]
    return f"cpu-{slug}-{threads}t"


def _gauge(folder: Path, threads: int) -> tuple[float, float]:
    """FLOP/s of a large product and bytes/s of a large sum: the machine's peaks as seen from here."""
    from onnx import TensorProto, helper

    def run(kind: str, shape: tuple[int, ...]) -> float:
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "abc"]
        graph = helper.make_graph(
            [helper.make_node(kind, ["a", "b"], ["c"], name=kind)], kind, values[:2], values[2:]
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path = folder / f"{kind}.onnx"
        save_model(model, path)
        return min(profile(path, random_inputs(model, {}), folder, threads, 6)[kind])

    side, long = (_SIDE, _SIDE), (64, _SIDE, _SIDE // 4)
    return 2 * _SIDE**3 / run("MatMul", side), 3 * 4 * 16 * _SIDE**2 / run("Add", long)


def device_definition(peak: float, bandwidth: float) -> dict[str, object]:
    """Describe this machine for ``cluster.devices`` of a scenario, from FLOP/s and bytes/s."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8e9
    return {
        "fp32": f"{peak / 1e9:.4g} GFLOP/s",
        "memory": f"{memory / 1e9:.4g} GB",
        "bandwidth": f"{bandwidth / 1e9:.4g} GB/s",
        "compute_efficiency": 1.0,
        "memory_efficiency": 1.0,
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        match = re.search(r"^model name\s*:\s*(.+)$", info.read_text("utf-8", "replace"), re.MULTILINE)
        if match:
            return match.group(1).strip()
    return platform.processor() or platform.machine() or "unknown"


WARMUP = 3
RUNS = 12
MOST_BATCH = 4096


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model ready to run; ``symbols`` are the sizes of its dimensions, by batch."""

    graph: ModelGraph
    model: Any
    filled: int
    symbols: Mapping[int, Mapping[str, int]]
    seed: int

    def inputs(self, batch: int) -> dict[str, NDArray[Any]]:
        return random_inputs(self.model, self.symbols[batch], self.seed)


def _loaded(
    path: Path, batches: Sequence[int], symbols: Mapping[str, int] | None, threads: int, runs: int, seed: int
) -> _Loaded:
    """The model with weights and names; without ``batches`` it runs as ``symbols`` say, which is batch 1."""
    import onnx

    sizes = sorted(set(batches))
    if threads < 1 or runs < 2 or not all(1 <= size <= MOST_BATCH for size in sizes):
        raise CostError(
            f"Measuring batches {', '.join(map(str, sizes)) or 'as they are'} with threads={threads} and "
            f"runs={runs}: give sizes from 1 to {MOST_BATCH}, at least one thread and two runs."
        )
    _onnx_runtime()
    data = _read(path)
    if path.suffix.lower() != ".onnx":
        raise CostError(f"File {path.name!r}: only ONNX models can be measured; give an .onnx file.")
    model = onnx.load_model(path, load_external_data=False)
    named = _batch_symbols(model, path) if sizes else frozenset()
    by_batch = {size: {**(symbols or {}), **dict.fromkeys(named, size)} for size in sizes or (1,)}
    graph = read_model(data, path.name, symbols=next(iter(by_batch.values())))
    filled = fill_weights(model, seed)
    name_nodes(model, graph)
    return _Loaded(graph, model, filled, by_batch, seed)


def _read(path: Path) -> bytes:
    try:
        return read_model_file(path, f"File {str(path)!r}")
    except FileNotFoundError as error:
        raise CostError(f"File {str(path)!r}: {error.strerror or error}; check the path.") from None


def _batch_symbols(model: Any, path: Path) -> frozenset[str]:
    weights = {t.name for t in model.graph.initializer}
    shapes = (i.type.tensor_type.shape for i in model.graph.input if i.name not in weights)
    names = frozenset(shape.dim[0].dim_param for shape in shapes if shape.dim) - {""}
    if not names:
        raise CostError(
            f"File {path.name!r}: the first dimension of its inputs is fixed, so its batch cannot be varied; "
            "export it with a dynamic batch."
        )
    return names


def _origin(threads: int) -> str:
    version = _onnx_runtime().__version__
    today = datetime.date.today().isoformat()
    return f"Measured by nona measure on {today}, {_processor()}, {threads} thread(s), onnxruntime {version}"


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of a measurement; ``text`` is the table.

    By batch: ``operators_s`` are medians of the runs after the warm-up; ``whole_s`` is the median time of
    the whole model with all graph optimisations.
    """

    model: str
    device: str
    operators_s: Mapping[int, Mapping[str, float]]
    missing: tuple[str, ...]
    whole_s: Mapping[int, float]
    text: str

    def __str__(self) -> str:
        lines = [
            f"{self.model} on {self.device}, batch {batch}: {len(times)} operators, "
            f"{sum(times.values()) * 1e3:.3g} ms in all one by one; "
            f"{self.whole_s[batch] * 1e3:.3g} ms as a whole with all optimisations."
            for batch, times in self.operators_s.items()
        ]
        if self.missing:
            lines.append(f"{len(self.missing)} operators have no profile event (first {self.missing[0]!r}).")
        return "\n".join(lines)


def measure_model(
    path: Path,
    batches: Sequence[int] = (),
    *,
    threads: int = 1,
    device: str | None = None,
    symbols: Mapping[str, int] | None = None,
    warmup: int = WARMUP,
    runs: int = RUNS,
    seed: int = 0,
) -> Measurement:
    """Profile the ONNX model at ``path`` on this machine's CPU, at each of ``batches``.

    Every node is timed by itself (graph optimisation off), ``warmup`` + ``runs`` times; the table
    holds the medians of the last ``runs``. Weights that the file does not hold are random. The batch is the
    first dimension of the model's inputs, which must be symbolic; ``symbols`` are sizes of the others.

    Raises ``CostError`` when ONNX Runtime is missing or refuses the model, the weights are too large, a batch
    is not from 1 to 4096, or that of the model is fixed. Raises ``GraphError`` when the file is not a
    readable ONNX model.
    """
    loaded = _loaded(path, batches, symbols, threads, runs, seed)
    with _runnable(loaded) as runnable:
        profiles = {
            size: profile(runnable, loaded.inputs(size), runnable.parent, threads, warmup + runs)
            for size in loaded.symbols
        }
        whole_s = {
            size: median(_walls_s(runnable, loaded.inputs(size), threads, warmup, runs))
            for size in loaded.symbols
        }
        definition = device_definition(*_gauge(runnable.parent, threads))
    name, graph = device or device_name(threads), loaded.graph
    times = {
        size: {o.id: by_node[o.id][-runs:] for o in graph.operators if o.id in by_node}
        for size, by_node in profiles.items()
    }
    wholes = ", ".join(f"{1e3 * seconds:.4g} ms at batch {size}" for size, seconds in whole_s.items())
    notes = [
        f"{_origin(threads)}.",
        f"Median of {runs} runs after {warmup}; graph optimisation off; {loaded.filled} weights random "
        f"(seed {seed}).",
        f"Whole model with all optimisations: {wholes}.",
        "Device for a scenario's cluster.devices: " + json.dumps({name: definition}),
    ]
    medians = {size: {k: median(v) for k, v in of.items()} for size, of in times.items()}
    missing = tuple(o.id for o in graph.operators if any(o.id not in of for of in times.values()))
    return Measurement(
        graph.name, name, medians, missing, whole_s, table_text(graph.name, name, times, notes)
    )


@contextmanager
def _runnable(loaded: _Loaded) -> Iterator[Path]:
    """The model's file in a folder of its own, while it is run."""
    with tempfile.TemporaryDirectory() as scratch, refusing(loaded.graph.name):
        path = Path(scratch) / "model.onnx"
        save_model(loaded.model, path)
        yield path


@contextmanager
def refusing(model: str) -> Iterator[None]:
    """Raise a :class:`CostError` of one line for whatever ONNX Runtime raises."""
    try:
        yield
    except Exception as error:
        # ONNX Runtime raises types of its own, and plain RuntimeError
        if not (type(error).__module__.startswith("onnxruntime") or isinstance(error, RuntimeError)):
            raise
        reason = " ".join(str(error).split())[:300]
        raise CostError(f"Model {model!r}: ONNX Runtime cannot run it: {reason}") from None


def table_text(
    model: str, device: str, times: Mapping[int, Mapping[str, Sequence[float]]], notes: Sequence[str] = ()
) -> str:
    """The measured table as CSV: median and interquartile range (ms) of each operator at each batch.

    >>> print(table_text("m", "cpu", {4: {"a": [1e-3, 2e-3, 3e-3]}}), end="")
    model,operator,device,batch,ms,runs,spread_ms
    m,a,cpu,4,2,3,2
    """
    rows: list[tuple[object, ...]] = []
    for batch, by_operator in times.items():
        for operator, seconds in by_operator.items():
            low, _, high = quantiles(seconds, n=4)
            spread = f"{(high - low) * 1e3:.4g}"
            rows.append(
                (model, operator, device, batch, f"{median(seconds) * 1e3:.6g}", len(seconds), spread)
            )
    return _csv(("model", "operator", "device", "batch", "ms", "runs", "spread_ms"), rows, notes)


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]], notes: Sequence[str]) -> str:
    out = io.StringIO()
    for note in notes:
        out.write(f"# {note}\n")
    csv.writer(out, lineterminator="\n").writerows((header, *rows))
    return out.getvalue()


def measure_batches(
    path: Path,
    batches: Sequence[int],
    *,
    threads: int = 1,
    symbols: Mapping[str, int] | None = None,
    warmup: int = WARMUP,
    runs: int = RUNS,
    seed: int = 0,
) -> str:
    """The profile of the ONNX model at ``path``: median and 95th percentile (ms) at each batch size.

    Raises ``CostError`` or ``GraphError`` as :func:`measure_model`.
    """
    loaded = _loaded(path, batches, symbols, threads, runs, seed)
    with _runnable(loaded) as runnable:
        seconds = {
            size: _walls_s(runnable, loaded.inputs(size), threads, warmup, runs) for size in loaded.symbols
        }
    notes = [
        f"{_origin(threads)}; on the CPU, no GPU.",
        f"Whole model with all graph optimisations; {runs} runs after {warmup}; {loaded.filled} weights "
        "random.",
    ]
    return profile_text(loaded.graph.name, threads, seconds, notes)


def profile_text(
    model: str, vcpus: int, seconds: Mapping[int, Sequence[float]], notes: Sequence[str] = ()
) -> str:
    """The profile as CSV: median and 95th percentile of each batch size's runs.

    >>> print(profile_text("m", 2, {4: [1e-3, 2e-3, 3e-3]}), end="")
    model,batch,vcpus,percentile,ms
    m,4,2,50,2
    m,4,2,95,2.9
    """
    rows = [
        (model, batch, vcpus, percentile, f"{value * 1e3:.6g}")
        for batch, runs in seconds.items()
        for percentile, value in ((50, median(runs)), (95, quantiles(runs, n=20, method="inclusive")[-1]))
    ]
    return _csv(("model", "batch", "vcpus", "percentile", "ms"), rows, notes)
