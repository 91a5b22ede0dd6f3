"""When instances held their part of a GPU without a batch: what batches alone do not show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nona.results.serverless.dispatch import LayoutBatch
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.leases import leases
from nona.serverless.records.run import Instances, ServerlessRecords


def idle_rows(records: ServerlessRecords, system: ServerlessSystem) -> tuple[LayoutBatch, ...]:
    """Every stretch in which an instance stood without a batch, as rows of no jobs; not what ended earlier.

    Times are in seconds from the start of the measured window; what began before it begins below 0.
    """
    standing, start_s = records.instances, records.sums.start_s
    if standing is None:
        return ()
    until_s = leases(records).to_s
    spans = (
        (n, begin, end)
        for n in range(len(standing.started_s))
        for begin, end in _gaps(records, standing, n, float(until_s[n]))
        if end > max(begin, start_s)
    )
    return tuple(_row(standing, system, n, begin - start_s, end - start_s) for n, begin, end in spans)


def _gaps(
    records: ServerlessRecords, standing: Instances, number: int, until_s: float
) -> Iterator[tuple[float, float]]:
    """(from, to) between an instance's batches, before the first and after the last."""
    at_s = float(standing.started_s[number])
    for k in np.flatnonzero(standing.of_batch == number).tolist():  # in order of dispatch
        yield at_s, float(records.batches.dispatched_s[k])
        end_s = float(records.batches.ended_s[k])
        at_s = until_s if np.isnan(end_s) else end_s
    yield at_s, until_s


def _row(standing: Instances, system: ServerlessSystem, n: int, from_s: float, to_s: float) -> LayoutBatch:
    application = system.applications[int(standing.application[n])]
    held = system.space[int(standing.configuration[n])]
    return LayoutBatch(
        invoker=int(standing.invoker[n]),
        gpu=int(standing.gpu[n]),
        from_s=from_s,
        computes_s=to_s,
        to_s=to_s,
        slots=int(standing.slots[n]),
        vgpus=held.vgpus,
        application=application.name,
        stage=application.stage_names[int(standing.stage[n])],
        configuration=held.text,
        jobs=0,
        cold=bool(standing.cold[n]),
    )
