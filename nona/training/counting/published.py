"""What the authors' program gave, for comparison."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Published(NamedTuple):
    """In seconds."""

    mean_jct_s: float
    makespan_s: float


@cache
def published() -> dict[tuple[str, int], Published]:
    """Figures of Tiresias' own simulator on its jobs, by schedule and number of GPUs.

    >>> published()["fifo", 8].makespan_s
    5747.0
    """
    text = files("nona.training.counting").joinpath("data/published.csv").read_text(encoding="utf-8")
    return {
        (row["schedule"], int(row["gpus"])): Published(float(row["mean_jct_s"]), float(row["makespan_s"]))
        for row in csv.DictReader(text.splitlines())
    }
