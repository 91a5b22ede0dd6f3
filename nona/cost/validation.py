"""The cost formula against published latencies that it was not fitted to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, stdev
from typing import Literal, cast

import scipy

from nona.cost.costed import SIGMA
from nona.cost.costing import cost_graph
from nona.cost.options import CostOptions, CostPrecision
from nona.cost.validation_networks import reference_model
from nona.hardware.executor import executor_class
from nona.hardware.table_file import shipped_table

Use = Literal["counted", "in-sample", "shown"]


@dataclass(frozen=True, slots=True)
class ValidationRow:
    """One published latency beside its prediction (seconds).

    ``use`` is ``counted``; ``in-sample`` when a constant was read off this very row (its group is
    summed up, but stays out of ``overall``); or ``shown`` only. ``note`` says why, or what differs.
    """

    model: str
    executor: str
    precision: str
    stack: str
    group: str
    measured_s: float
    predicted_s: float
    use: Use
    source: str
    note: str

    @property
    def ratio(self) -> float:
        """Predicted over measured."""
        return self.predicted_s / self.measured_s


@dataclass(frozen=True, slots=True)
class ValidationSummary:
    """The quality of the prediction for a group of rows.

    ``mape``: mean of |predicted − measured| / measured. ``bias``: mean of measured / predicted.
    ``spearman``: rank correlation (nan below three rows). ``log_sigma``: standard deviation of
    ln(measured / predicted).
    """

    group: str
    rows: int
    mape: float
    bias: float
    spearman: float
    log_sigma: float


@dataclass(frozen=True, slots=True)
class SliceRatio:
    """The slowdown of a MIG slice relative to its whole device: published and predicted."""

    model: str
    executor: str
    measured: float
    predicted: float


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """All rows, a summary of each group and of the whole, and the slowdowns on MIG slices."""

    rows: tuple[ValidationRow, ...]
    groups: tuple[ValidationSummary, ...]
    tensorrt: ValidationSummary
    overall: ValidationSummary
    slices: tuple[SliceRatio, ...]


@cache
def validation_report() -> ValidationReport:
    """Predict every published latency and sum up.

    Nothing is fitted to the counted rows: the constants come from operator profiles
    (``data/calibration.csv``). ``tensorrt`` covers the BERT and ResNet-50 engines at batch 1.

    >>> report = validation_report()
    >>> report.tensorrt.rows, report.overall.rows
    (26, 32)
    """
    rows = tuple(_row(r) for r in shipped_table("nona.cost", "data/published.csv"))
    counted = [r for r in rows if r.use == "counted"]
    used = [r for r in rows if r.use != "shown"]
    names = list(dict.fromkeys(r.group for r in used))
    engines = [r for r in counted if r.group.startswith("TensorRT ")]
    return ValidationReport(
        rows=rows,
        groups=tuple(summarise(n, [r for r in used if r.group == n]) for n in names),
        tensorrt=summarise("TensorRT engines, batch 1", engines),
        overall=summarise("all counted", counted),
        slices=_slices(rows),
    )


def summarise(group: str, rows: Sequence[ValidationRow]) -> ValidationSummary:
    """MAPE, bias, rank correlation and spread of ``rows`` (at least one)."""
    logs = [math.log(1 / r.ratio) for r in rows]
    rank = math.nan
    if len(rows) > 2:
        rank = float(
            scipy.stats.spearmanr([r.measured_s for r in rows], [r.predicted_s for r in rows]).statistic
        )
    return ValidationSummary(
        group=group,
        rows=len(rows),
        mape=fmean(abs(r.ratio - 1) for r in rows),
        bias=fmean(1 / r.ratio for r in rows),
        spearman=rank,
        log_sigma=stdev(logs) if len(logs) > 1 else 0.0,
    )


def _row(row: dict[str, str]) -> ValidationRow:
    options = CostOptions(row["stack"], cast(CostPrecision, row["precision"]))
    costed = cost_graph(reference_model(row["model"]), executor_class(row["executor"]), options)
    return ValidationRow(
        model=row["model"],
        executor=row["executor"],
        precision=row["precision"],
        stack=row["stack"],
        group=row["group"],
        measured_s=float(row["ms"]) / 1e3,
        predicted_s=costed.total_compute_s,
        use=cast(Use, row["use"]),
        source=row["source"],
        note=row["note"],
    )


def _slices(rows: Sequence[ValidationRow]) -> tuple[SliceRatio, ...]:
    whole = {(r.model, r.executor, r.precision, r.stack): r for r in rows}
    comparisons = []
    for row in rows:
        base = whole.get((row.model, row.executor.split("/")[0], row.precision, row.stack))
        if base is not None and base is not row:
            comparisons.append(
                SliceRatio(
                    row.model,
                    row.executor,
                    row.measured_s / base.measured_s,
                    row.predicted_s / base.predicted_s,
                )
            )
    return tuple(comparisons)


_READING = """\
MAPE is the mean of |predicted − measured| / measured, bias the mean of measured / predicted,
log σ the standard deviation of ln(measured / predicted). Ranks, which decide placements, are better
predicted than times. Without measured times take a modelled time as right within a factor of
exp(±{counted:.2f}), the log σ of all counted, two times out of three; ranges beside results take
exp(±{sigma:g}), as a model that is not counted here may be further off. A measured table
(`nona measure`, or your own CSV) replaces modelled times.
"""
WEAK_POINTS = """\
- **L40S**: BERT is predicted too slow. Its 96 MB second-level cache keeps the weights; the model
  reads them from memory for every query.
- **ResNet-50 in INT8** on large GPUs: predicted too fast, though a tile of 64 × 64 outputs an SM leaves most
  of the GPU idle at batch 1.
- **Convolutions in fp16 under PyTorch** reach about half of what is modelled, at every batch from 1 to 64;
  **attention** runs as one kernel there and takes a third to a half (H100, `benchmarks/data/gpu`).
- **PyTorch eager**: the overhead per operator is that of one host processor and version; kernels
  longer than the overhead would hide it, the model adds the two. The longer of the two alone would make
  training steps of ResNet-50 on a V100 up to 1.5 times faster than measured: its convolutions are slower.
- **LLaMA**: attention is modelled as separate products and softmax; fused attention moves fewer
  bytes on long prompts. FP8 rows take the FP8 peak and width for everything.
- The A100-40 ResNet-50 row was measured on the PCIe card. L4 and A30 figures are partly recollected.
- Profiles per operator and of NCCL (microsoft/vidur) went into the constants and are not repeated here.
"""


def reading() -> str:
    """Explain the figures of a summary, and how far a modelled time may be trusted."""
    return _READING.format(counted=validation_report().overall.log_sigma, sigma=SIGMA["modelled"])
