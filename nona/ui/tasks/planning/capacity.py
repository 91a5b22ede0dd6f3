"""The fewest servers that keep the SLOs: what the worker does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.report.capacity.report import capacity_report
from nona.results.capacity import CapacityReport, DeviceCapacity
from nona.study.capacity.devices import cheapest
from nona.study.capacity.search import MOST, fewest_servers, unfinished
from nona.ui.jobs.desk import Desk
from nona.ui.tasks.reading import sources_of, study_of


def find_capacity(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """The fewest servers of ``spec["group"]`` that keep ``spec["hit"]`` of the SLOs.

    One answer for each of ``spec["schedulers"]``. What is known so far, also of searches that have not ended,
    is the job's ``live`` and ``best``. With ``spec["simulated"]`` a predicted count and one fewer are
    simulated as well.
    """
    scenario, sources = study_of(spec, desk).scenario, sources_of(spec)
    names = list(spec["schedulers"])
    hit, group = float(spec["hit"]), int(spec["group"])
    gpu = scenario.cluster.servers[group].gpu
    found: list[DeviceCapacity] = []

    def show(known: Sequence[DeviceCapacity]) -> None:
        rest = [unfinished(gpu, name) for name in names[len(known) :]]
        so_far = _report([*known, *rest], hit, group).to_json()
        desk.emit({"live": so_far, "best": so_far})

    for name in names:
        found.append(
            fewest_servers(
                scenario,
                sources,
                1 - hit,
                group=group,
                scheduler=name,
                simulated=bool(spec.get("simulated")),
                cache=desk.cache,
                check=desk.check,
                tell=_Teller(desk, len(found), len(names)).tell,
                seen=lambda now: show([*found, now]),
            )
        )
        if len(found) < len(names):
            desk.emit({"fraction": len(found) / len(names), "text": f"{name} done"})
            show(found)
    return _report(found, hit, group).to_json()


def _report(found: Sequence[DeviceCapacity], hit: float, group: int) -> CapacityReport:
    return capacity_report(found, cheapest(found), hit, group, MOST)


class _Teller:
    """Progress of one scheduler's search: nobody knows how many counts it will try."""

    def __init__(self, desk: Desk, done: int, total: int) -> None:
        self._desk, self._done, self._total, self._tried = desk, done, total, 0

    def tell(self, text: str) -> None:
        self._tried += 1
        fraction = (self._done + 1 - 0.9**self._tried) / self._total
        self._desk.emit({"fraction": fraction, "text": text, "open": True})
