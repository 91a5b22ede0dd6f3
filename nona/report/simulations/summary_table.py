"""The results of a simulation as one table of plain numbers: a row per scheduler and model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

Row = Mapping[str, Any]


def summary_table(report: Row) -> pd.DataFrame:
    """One row per scheduler for all models together (``model`` is ``all``), then one per model.

    Times in seconds, rates and utilisations as fractions; what has no value is missing. ``*_low`` and
    ``*_high`` bound the 95 % interval.
    """
    rows = []
    for name, s in report["schedulers"].items():
        whole = {
            "scheduler": name,
            "model": "all",
            "state": s["state"],
            **_mean("jct", s["jct_s"]["mean"], s["jct_s"]["ci95"], "_s"),
            **_percentiles(s["jct_s"]["percentiles"]),
            **_mean("slo_hit_rate", s["slo_hit_rate"]["mean"], s["slo_hit_rate"]["ci95"]),
            **_parts(s["parts_s"]),
            "utilization_compute": s["utilization"]["compute"],
            "utilization_network": s["utilization"]["network"],
            **{f"jobs_{k}": v for k, v in s["jobs"].items()},
            "replications": s["replications"],
        }
        rows.append(whole)
        rows += [
            {
                "scheduler": name,
                "model": model,
                "state": s["state"],
                **_mean("jct", m["jct_s"], m["jct_ci95"], "_s"),
                **_percentiles(m["percentiles"]),
                "slo_hit_rate": m["slo_hit_rate"],
                "slo_s": m["slo_s"],
                **_parts(m["parts_s"]),
                "replications": s["replications"],
            }
            for model, m in s["models"].items()
        ]
    table = pd.DataFrame(rows)
    text = ("scheduler", "model", "state")
    return table.astype({c: "float64" for c in table.columns if c not in text})


def _mean(name: str, mean: float | None, interval: list[float] | None, unit: str = "") -> dict[str, Any]:
    low, high = interval or (None, None)
    return {f"{name}{unit}": mean, f"{name}_low{unit}": low, f"{name}_high{unit}": high}


def _percentiles(found: Mapping[str, Row]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name, p in found.items():
        told |= _mean(f"jct_{name}", p["value_s"], p["ci95"], "_s")
    return told


def _parts(parts: Row) -> dict[str, Any]:
    return {f"{name}_s": value for name, value in parts.items()}
