"""``nona schedulers | devices | models``: lists of the available choices."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nona.cli.options import ListOptions
from nona.hardware.catalogue import devices as device_catalogue
from nona.report.inputs.hardware import device_row
from nona.report.plain import plain
from nona.report.text import table


def schedulers(arguments: ListOptions) -> None:
    """List the schedulers, and the configuration policies of serverless workflows."""
    from nona.cli.serverless import policy_rows  # takes a second, which the other lists need not
    from nona.schedulers.registry import get_scheduler, scheduler_names

    rows = []
    for name in scheduler_names():
        s = get_scheduler(name)
        rows.append(
            {
                "name": name,
                "kind": s.kind,
                "network_view": s.network_view.name,
                "summary": s.summary,
                "source": s.source,
                "adaptation": s.adaptation,
            }
        )
    rows += policy_rows()
    _list(arguments, "schedulers", rows, ("name", "kind", "network_view", "summary"))


def devices(arguments: ListOptions) -> None:
    """List the devices of the catalogue."""
    rows = [device_row(d) for d in device_catalogue().values()]
    _list(arguments, "devices", rows, ("name", "title", "fp16", "memory", "bandwidth", "mig"))


def models(arguments: ListOptions) -> None:
    """List the sample models, workflows and scenarios."""
    from nona.sources import samples

    rows = [{"name": n, "description": samples.description(n)} for n in samples.sample_names()]
    scenarios = [
        {"name": n, "description": samples.scenario_description(n)} for n in samples.scenario_names()
    ]
    if arguments.json:
        print(json.dumps({"models": rows, "scenarios": scenarios}))
        return
    print(table(rows, ("name", "description")))
    print("\nShipped scenarios")
    print(table(scenarios, ("name", "description")))


def _list(
    arguments: ListOptions, key: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> None:
    if arguments.json:
        print(json.dumps({key: plain(rows)}))
    else:
        print(table(rows, columns))
