"""What the authors' simulator gave, for comparison."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Case(NamedTuple):
    """A published run; ``workload`` 0: the mean over the authors' eight workloads."""

    policy: str
    load: float
    interference: float
    avoid: bool
    workload: int


@cache
def published() -> dict[Case, float]:
    """Mean JCT in seconds by case.

    >>> published()[Case("tiresias", 1.0, 0.0, True, 1)]
    2473.65
    """
    text = files("nona.training.elastic").joinpath("data/published.csv").read_text(encoding="utf-8")
    return {
        Case(
            row["policy"],
            float(row["load"]),
            float(row["interference"]),
            row["avoid"] == "1",
            0 if row["workload"] == "mean" else int(row["workload"]),
        ): float(row["mean_jct_s"])
        for row in csv.DictReader(text.splitlines())
    }
