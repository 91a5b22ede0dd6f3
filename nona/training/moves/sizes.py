"""Sizes of checkpoints: weights and the optimiser's state, 4 bytes each."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from nona.training.model.job import Job

BYTES = 4
"""Per value: single precision."""


class CheckpointSize(NamedTuple):
    """Parameters, values that the optimiser keeps for each, and where the numbers are from."""

    parameters: float
    optimizer_values: int
    optimizer: str
    source: str
    checked: str

    @property
    def size_bytes(self) -> float:
        """4 · P · (1 + k): the weights and k values of the optimiser per weight."""
        return BYTES * self.parameters * (1 + self.optimizer_values)


@cache
def shipped_sizes() -> Mapping[str, CheckpointSize]:
    """Sizes by model without its batch size; most are recollected or assumed, as each row says.

    >>> round(shipped_sizes()["ResNet-50"].size_bytes / 1e6)
    204
    """
    text = files("nona.training").joinpath("data/checkpoints.csv").read_text(encoding="utf-8")
    return {
        row["model"]: CheckpointSize(
            float(row["parameters"]),
            int(row["optimizer_values"]),
            row["optimizer"],
            row["source"],
            row["checked"],
        )
        for row in csv.DictReader(text.splitlines())
    }


def checkpoint_bytes(job: Job) -> float:
    """The job's own size; without one its model's; 0 where neither is known.

    >>> round(checkpoint_bytes(Job("a", "A3C", 1)) / 1e6, 2), checkpoint_bytes(Job("a", "mine", 1))
    (7.08, 0.0)
    """
    if job.checkpoint_bytes > 0:
        return job.checkpoint_bytes
    known = shipped_sizes().get(job.model.split(" (")[0])
    return known.size_bytes if known else 0.0
