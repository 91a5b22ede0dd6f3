"""Every measured call of a serverless run as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.measured import call_cost, hits
from nona.serverless.records.run import ServerlessRecords

Runs = Mapping[str, Sequence[ServerlessRecords]]


def call_table(runs: Runs, system: ServerlessSystem) -> pd.DataFrame:
    """One row per measured call: policy, replication, application, times (s), SLO, whether kept, cost ($).

    ``completion_s`` and ``latency_s`` are empty for a call that was dropped, or not complete when the run
    ended; ``dropped_s`` is when it was dropped.
    """
    frames = [_frame(name, r, system) for name, records in runs.items() for r in records]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _frame(policy: str, records: ServerlessRecords, system: ServerlessSystem) -> pd.DataFrame:
    calls = records.calls
    measured = np.flatnonzero(calls.measured)
    application = calls.application[measured]
    names = np.array([a.name for a in system.applications], dtype=object)
    slo_s = np.array([a.slo_s for a in system.applications])
    return pd.DataFrame(
        {
            "policy": policy,
            "replication": records.replication,
            "application": names[application],
            "arrival_s": calls.arrival_s[measured],
            "completion_s": calls.completion_s[measured],
            "dropped_s": calls.dropped_s[measured],
            "latency_s": (calls.completion_s - calls.arrival_s)[measured],
            "slo_s": slo_s[application],
            "slo_kept": hits(system, records)[measured],
            "cost_usd": call_cost(system, records)[measured],
        }
    )
