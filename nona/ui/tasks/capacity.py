"""The fewest servers that keep the SLOs: what the worker does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.report.capacity.report import capacity_report
from nona.study.capacity import MOST, cheapest, fewest_servers
from nona.ui.jobs.desk import Desk
from nona.ui.tasks.reading import sources_of, study_of


def find_capacity(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """The fewest servers of ``spec["group"]`` that keep ``spec["hit"]`` of the SLOs, by prediction.

    With ``spec["simulated"]`` that count and one fewer are simulated as well.
    """
    scenario, tried = study_of(spec, desk).scenario, 0

    def tell() -> None:
        nonlocal tried
        desk.check()
        tried += 1
        desk.emit(
            {"fraction": 1 - 0.9**tried, "text": "Solving and predicting for another number of servers"}
        )

    hit, group = float(spec["hit"]), int(spec["group"])
    found = fewest_servers(
        scenario,
        sources_of(spec),
        1 - hit,
        group=group,
        simulated=bool(spec.get("simulated")),
        check=tell,
    )
    return capacity_report([found], cheapest([found]), hit, group, MOST).to_json()
