"""Lists of the available choices: schedulers, devices, models, training policies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nona.cli.declared import PrintOptions
from nona.core.document import Document
from nona.core.registry import Strategy
from nona.core.tables import text_table


class SchedulerEntry(Document):
    """A scheduler, or a policy of another part: its family in lists, what it sees of the network."""

    name: str
    kind: str
    family: str
    network_view: str
    summary: str
    source: str
    adaptation: str


class SampleEntry(Document):
    """A sample model or a shipped scenario."""

    name: str
    description: str


def schedulers(arguments: PrintOptions) -> None:
    """List schedulers, routers of language models, policies of serverless workflows and training clusters."""
    from nona.allocation.registry import POLICIES as TRAINING
    from nona.language.routers import ROUTERS
    from nona.queries.schedulers.base import FAMILY_TITLES
    from nona.queries.schedulers.registry import SCHEDULERS
    from nona.serverless.policies.registry import POLICIES as SERVERLESS

    def entry(one: Strategy, kind: str, family: str, network_view: str = "N0") -> SchedulerEntry:
        return SchedulerEntry.from_fields(one, kind=kind, family=family, network_view=network_view)

    rows = [
        *(entry(s, s.kind, FAMILY_TITLES[s.family], s.network_view.name) for s in SCHEDULERS.values()),
        *(entry(r, "bind", "Routers of language models") for r in ROUTERS.values()),
        *(entry(p, "configure", "Serverless policies") for p in SERVERLESS.values()),
        *(entry(p, "allocate", "Training policies") for p in TRAINING.values()),
    ]
    _list(arguments, "schedulers", rows, ("name", "family", "kind", "network_view", "summary"))


def devices(arguments: PrintOptions) -> None:
    """List the devices of the catalogue."""
    from nona.cluster.hardware.device import devices as device_catalogue
    from nona.queries.report.clusters import device_row

    rows = [device_row(d) for d in device_catalogue().values()]
    _list(arguments, "devices", rows, ("name", "title", "fp16", "memory", "bandwidth", "mig"))


def models(arguments: PrintOptions) -> None:
    """List the sample models, workflows and scenarios."""
    from nona.scenario import sample_files as samples

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


def _list(arguments: PrintOptions, key: str, entries: Sequence[Document], columns: Sequence[str]) -> None:
    rows = _plain(entries)
    print(json.dumps({key: rows}) if arguments.json else text_table(rows, columns))


def _plain(entries: Sequence[Document]) -> list[dict[str, Any]]:
    return [e.to_json() for e in entries]
