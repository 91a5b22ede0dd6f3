"""``nona measure --batches``: time a whole model by its batch size; a profile of a serverless function.

The profile has the layout of :mod:`nona.serverless.profiles.reader`. It is measured on the CPU, so it has no
column for the GPU: its times hold for any part of one.
"""

from __future__ import annotations

import csv
import datetime
import io
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from nona.cost.measuring.fill import fill_weights, name_nodes, random_inputs, save_model
from nona.cost.measuring.machine import processor
from nona.cost.measuring.measure import RUNS, WARMUP, model_bytes, refusing
from nona.cost.measuring.profile import onnx_runtime, walls_s
from nona.errors import CostError
from nona.graph.readers import read_model

COLUMNS = ("model", "batch", "vcpus", "percentile", "ms")
MOST_BATCH = 4096


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

    The batch is the first dimension of the model's inputs, which must be symbolic; ``symbols`` are sizes of
    the others.

    Raises
    ------
    CostError
        When ONNX Runtime is missing or refuses the model, a batch size is not from 1 to 4096, or the batch of
        the model is fixed.
    GraphError
        When the file is not a readable ONNX model.
    """
    import onnx

    sizes = sorted(set(batches))
    if not sizes or not 1 <= sizes[0] <= sizes[-1] <= MOST_BATCH or threads < 1 or runs < 2:
        raise CostError(
            f"Measuring batches {', '.join(map(str, sizes)) or 'none'}: give sizes from 1 to {MOST_BATCH}, "
            "at least one thread and two runs."
        )
    version = onnx_runtime().__version__
    known = dict(symbols or {})
    graph = read_model(model_bytes(path), path.name, symbols={**known, **_batch(path, sizes[0])})
    model = onnx.load_model(path, load_external_data=False)
    filled = fill_weights(model, seed)
    name_nodes(model, graph)
    with tempfile.TemporaryDirectory() as scratch, refusing(graph.name):
        runnable = Path(scratch) / "model.onnx"
        save_model(model, runnable)
        seconds = {
            size: walls_s(
                runnable, random_inputs(model, {**known, **_batch(path, size)}, seed), threads, warmup, runs
            )
            for size in sizes
        }
    notes = [
        f"Measured by nona measure on {datetime.date.today().isoformat()}, {processor()}, "
        f"{threads} thread(s), onnxruntime {version}; on the CPU, no GPU.",
        f"Whole model with all graph optimisations; {runs} runs after {warmup}; {filled} weights random.",
    ]
    return profile_text(graph.name, threads, seconds, notes)


def profile_text(
    model: str, vcpus: int, seconds: Mapping[int, Sequence[float]], notes: Sequence[str] = ()
) -> str:
    """The profile as CSV: median and 95th percentile of each batch size's runs.

    >>> print(profile_text("m", 2, {4: [1e-3, 2e-3, 3e-3]}), end="")
    model,batch,vcpus,percentile,ms
    m,4,2,50,2
    m,4,2,95,2.9
    """
    out = io.StringIO()
    for note in notes:
        out.write(f"# {note}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for batch, runs in seconds.items():
        for percentile, value in ((50, median(runs)), (95, quantiles(runs, n=20, method="inclusive")[-1])):
            writer.writerow((model, batch, vcpus, percentile, f"{value * 1e3:.6g}"))
    return out.getvalue()


def _batch(path: Path, size: int) -> dict[str, int]:
    """The symbols of the first dimensions of the model's inputs, at this size."""
    import onnx

    graph: Any = onnx.load_model(path, load_external_data=False).graph
    weights = {t.name for t in graph.initializer}
    first = {
        i.type.tensor_type.shape.dim[0].dim_param
        for i in graph.input
        if i.name not in weights and i.type.tensor_type.shape.dim
    } - {""}
    if not first:
        raise CostError(
            f"File {path.name!r}: the first dimension of its inputs is fixed, so its batch cannot be varied; "
            "export it with a dynamic batch."
        )
    return dict.fromkeys(first, size)
