"""The results of a simulation as one table of plain numbers: a row per scheduler and model."""

from __future__ import annotations

import pandas as pd

from nona.report.simulations.tables.cells import number_table
from nona.report.simulations.tables.columns import PARTS, columns
from nona.report.simulations.tables.rows import result_rows
from nona.results.simulation.report import SimulationReport

SUMMARY = columns(
    "scheduler",
    "model",
    "state",
    "jct",
    "jct_p50",
    "jct_p95",
    "jct_p99",
    "slo_hit_rate",
    *PARTS,
    "utilization_compute",
    "utilization_network",
    "jobs_arrived",
    "jobs_completed",
    "jobs_in_flight",
    "replications",
    "slo",
)


def summary_table(report: SimulationReport) -> pd.DataFrame:
    """One row per scheduler for all models together (``model`` is ``all``), then one per model.

    Times in seconds, rates and utilisations as fractions; what has no value is missing. ``*_low`` and
    ``*_high`` bound the 95 % interval.
    """
    return number_table(result_rows(report.schedulers, models=True), SUMMARY)
