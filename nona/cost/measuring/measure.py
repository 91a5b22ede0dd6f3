"""``nona measure``: time a model's operators on this machine and write a measured table.

Needs the optional extra ``nona-planner[measure]`` (ONNX Runtime). It runs the model it is given, so
it is for the command line and for models one trusts, never for uploads.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from numpy.typing import NDArray

from nona.cost.measuring.fill import fill_weights, name_nodes, random_inputs, save_model
from nona.cost.measuring.machine import device_definition, device_name, gauge, processor
from nona.cost.measuring.profile import onnx_runtime, profile, wall_s
from nona.errors import CostError
from nona.foreign.files import read_file
from nona.graph.readers import MAX_BYTES, read_model

WARMUP = 3
RUNS = 12


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of a measurement; ``text`` is the table.

    ``operators_s`` are medians of the runs after the warm-up; ``whole_s`` is the median time of
    the whole model with all graph optimisations.
    """

    model: str
    device: str
    operators_s: Mapping[str, float]
    missing: tuple[str, ...]
    whole_s: float
    text: str

    def __str__(self) -> str:
        lines = [
            f"{self.model} on {self.device}: {len(self.operators_s)} operators, "
            f"{sum(self.operators_s.values()) * 1e3:.3g} ms in all one by one; "
            f"{self.whole_s * 1e3:.3g} ms as a whole with all optimisations."
        ]
        if self.missing:
            lines.append(f"{len(self.missing)} operators have no profile event (first {self.missing[0]!r}).")
        return "\n".join(lines)


def measure_model(
    path: Path,
    output: Path | None = None,
    *,
    threads: int = 1,
    device: str | None = None,
    symbols: Mapping[str, int] | None = None,
    warmup: int = WARMUP,
    runs: int = RUNS,
    seed: int = 0,
) -> Measurement:
    """Profile the ONNX model at ``path`` on this machine's CPU; write the table to ``output``.

    Every node is timed by itself (graph optimisation off), ``warmup`` + ``runs`` times; the table
    holds the medians of the last ``runs``. Weights that the file does not hold are random.

    Raises
    ------
    CostError
        When ONNX Runtime is missing or refuses the model, or the weights are too large.
    GraphError
        When the file is not a readable ONNX model.
    """
    import onnx

    if threads < 1 or warmup < 0 or runs < 2:
        raise CostError(f"Measuring: threads={threads} and runs={runs} must be at least 1 and 2; give more.")
    version = onnx_runtime().__version__
    graph = read_model(model_bytes(path), path.name, symbols=symbols)
    if graph.source_format != "onnx":
        raise CostError(f"File {path.name!r}: only ONNX models can be measured; give an .onnx file.")
    model = onnx.load_model(path, load_external_data=False)
    filled = fill_weights(model, seed)
    name_nodes(model, graph)
    inputs = random_inputs(model, symbols or {}, seed)
    times, whole, definition = _run(model, inputs, threads, warmup, runs)
    name = device or device_name(threads)
    found = {o.id: times[o.id][-runs:] for o in graph.operators if o.id in times}
    notes = [
        f"Measured by nona measure on {datetime.date.today().isoformat()}, {processor()}, "
        f"{threads} thread(s), onnxruntime {version}.",
        f"Median of {runs} runs after {warmup}; graph optimisation off; {filled} weights random "
        f"(seed {seed}).",
        f"Whole model with all optimisations: {whole * 1e3:.4g} ms.",
        "Device for a scenario's cluster.devices: " + json.dumps({name: definition}),
    ]
    text = table_text(graph.name, name, found, notes)
    if output is not None:
        _write(output, text)
    missing = tuple(o.id for o in graph.operators if o.id not in times)
    return Measurement(graph.name, name, {k: median(v) for k, v in found.items()}, missing, whole, text)


def _run(
    model: Any, inputs: Mapping[str, NDArray[Any]], threads: int, warmup: int, runs: int
) -> tuple[dict[str, list[float]], float, dict[str, object]]:
    """Seconds per node and run, seconds of the whole model, and the machine as a device."""
    with tempfile.TemporaryDirectory() as scratch, refusing(model.graph.name):
        folder = Path(scratch)
        runnable = folder / "model.onnx"
        save_model(model, runnable)
        times = profile(runnable, inputs, folder, threads, warmup + runs)
        whole = wall_s(runnable, inputs, threads, warmup, runs)
        definition = device_definition(*gauge(folder, threads))
    return times, whole, definition


@contextmanager
def refusing(model: str) -> Iterator[None]:
    """What ONNX Runtime raises becomes a :class:`CostError` of one line."""
    try:
        yield
    except Exception as error:
        # ONNX Runtime raises types of its own, and plain RuntimeError
        if not (type(error).__module__.startswith("onnxruntime") or isinstance(error, RuntimeError)):
            raise
        reason = " ".join(str(error).split())[:300]
        raise CostError(f"Model {model!r}: ONNX Runtime cannot run it: {reason}") from None


def table_text(
    model: str, device: str, times: Mapping[str, Sequence[float]], notes: Sequence[str] = ()
) -> str:
    """The measured table as CSV: median and interquartile range (ms) of each operator.

    >>> print(table_text("m", "cpu", {"a": [1e-3, 2e-3, 3e-3]}), end="")
    model,operator,device,ms,runs,spread_ms
    m,a,cpu,2,3,2
    """
    out = io.StringIO()
    for note in notes:
        out.write(f"# {note}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("model", "operator", "device", "ms", "runs", "spread_ms"))
    for operator, seconds in times.items():
        low, _, high = quantiles(seconds, n=4)
        row = (f"{median(seconds) * 1e3:.6g}", len(seconds), f"{(high - low) * 1e3:.4g}")
        writer.writerow((model, operator, device, *row))
    return out.getvalue()


def model_bytes(path: Path) -> bytes:
    """The file's bytes, within the limit of models."""
    try:
        return read_file(path, f"File {str(path)!r}", MAX_BYTES, CostError)
    except FileNotFoundError as error:
        raise CostError(f"File {str(path)!r}: {error.strerror or error}; check the path.") from None


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise CostError(f"File {str(path)!r}: {error.strerror or error}; choose another place.") from None
