"""Predicted against published latencies: the accuracy of the cost formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, stdev
from typing import Literal, cast

from scipy.stats import spearmanr

from nona.cost.costing import cost_graph
from nona.cost.options import CostOptions, CostPrecision
from nona.cost.validation.networks import reference_model
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
    """How well a group of rows is predicted.

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
    """How much slower a MIG slice is than its whole device: published and predicted."""

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
        rank = float(spearmanr([r.measured_s for r in rows], [r.predicted_s for r in rows]).statistic)
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
    found = []
    for row in rows:
        base = whole.get((row.model, row.executor.split("/")[0], row.precision, row.stack))
        if base is not None and base is not row:
            found.append(
                SliceRatio(
                    row.model,
                    row.executor,
                    row.measured_s / base.measured_s,
                    row.predicted_s / base.predicted_s,
                )
            )
    return tuple(found)
