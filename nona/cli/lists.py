"""Lists of the available choices: schedulers, devices, models, training policies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nona.cli.declared import Printing
from nona.results.document import Document
from nona.results.program import SampleEntry, SchedulerEntry
from nona.tables.table import text_table


def _training_policy_entries() -> list[SchedulerEntry]:
    """The policies as listed by ``nona schedulers``; none of them sees the network."""
    from nona.allocation.registry import POLICIES

    return [
        SchedulerEntry(
            name=p.name,
            kind="allocate",
            family="Training policies",
            network_view="N0",
            summary=p.summary,
            source=p.source,
            adaptation=p.adaptation,
        )
        for p in POLICIES.values()
    ]


def schedulers(arguments: Printing) -> None:
    """List the schedulers, and the policies of serverless workflows and of training clusters."""
    from nona.cli.serverless import policy_rows  # takes a second, which the other lists need not
    from nona.schedulers.base import FAMILY_TITLES
    from nona.schedulers.registry import get_scheduler, scheduler_names

    rows = [
        SchedulerEntry(
            name=name,
            kind=s.kind,
            family=FAMILY_TITLES[s.family],
            network_view=s.network_view.name,
            summary=s.summary,
            source=s.source,
            adaptation=s.adaptation,
        )
        for name in scheduler_names()
        for s in [get_scheduler(name)]
    ]
    rows += [SchedulerEntry.from_json(row) for row in policy_rows()]
    rows += _training_policy_entries()
    _list(arguments, "schedulers", rows, ("name", "family", "kind", "network_view", "summary"))


def devices(arguments: Printing) -> None:
    """List the devices of the catalogue."""
    from nona.hardware.device import devices as device_catalogue
    from nona.report.clusters import device_row

    rows = [device_row(d) for d in device_catalogue().values()]
    _list(arguments, "devices", rows, ("name", "title", "fp16", "memory", "bandwidth", "mig"))


def models(arguments: Printing) -> None:
    """List the sample models, workflows and scenarios."""
    from nona.sources import samples

    models = [SampleEntry(name=n, description=samples.description(n)) for n in samples.sample_names()]
    scenarios = {
        n: SampleEntry(name=n, description=samples.scenario_description(n)) for n in samples.scenario_names()
    }
    if arguments.json:
        print(json.dumps({"models": _plain(models), "scenarios": _plain([*scenarios.values()])}))
        return
    print(text_table(_plain(models), ("name", "description")))
    for family, names in samples.scenario_families().items():
        print(f"\nShipped scenarios: {family}")
        print(text_table(_plain([scenarios[n] for n in names]), ("name", "description")))


def _list(arguments: Printing, key: str, entries: Sequence[Document], columns: Sequence[str]) -> None:
    rows = _plain(entries)
    print(json.dumps({key: rows}) if arguments.json else text_table(rows, columns))


def _plain(entries: Sequence[Document]) -> list[dict[str, Any]]:
    return [e.to_json() for e in entries]
