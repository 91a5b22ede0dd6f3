"""What a scenario becomes on the machines: names, replicas and the lines that say what a file stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nona import __version__
from nona.core.units import format_number, quantity_text
from nona.deployment.products import label_of
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.file import scenario_hash
from nona.scenario.schema import Scenario

ANNOTATION = "nona-planner/"
"""Begins the annotations by which a written file is read back."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What written files stand for.

    Parameters
    ----------
    scenario
        The scenario, with the servers of the option that was chosen.
    verdict
        The verdict on it, in words.
    option
        The option of the plan, in words; empty for the scenario's own cluster.
    headroom
        The largest factor on the traffic that was seen to keep all targets; ``None`` where it is not known.
    """

    scenario: Scenario
    verdict: str
    option: str = ""
    headroom: float | None = None

    @property
    def lines(self) -> list[str]:
        """The lines that begin every file."""
        s = self.scenario
        first = f"Written by Nona Planner {__version__} from {s.name!r}, version {scenario_hash(s)}"
        return [
            f"{first}{f', option {self.option}' if self.option else ''}. Verdict: {self.verdict}.",
            *(f"{label}: {text}" for label, text in traffic(s)),
        ]

    @property
    def comment(self) -> str:
        """The same as comments."""
        return "".join(f"# {line}\n" for line in self.lines)


def traffic(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield each row's label, with its rate and targets in words."""
    for row, label in zip(scenario.workload, scenario.labels, strict=True):
        users = row.concurrency
        load = f"{users} users" if users else f"{format_number(row.rate, 6)}/s"
        slo = f", SLO {quantity_text(row.slo, 'time')}" if row.slo else ", no SLO"
        yield label, f"{load}{slo}"
    for asked, label in zip(scenario.language, scenario.language_labels, strict=True):
        load = f"{asked.concurrency} users" if asked.concurrency else ""
        load = load or (f"{format_number(asked.rate, 6)}/s" if asked.rate else "the rate of its trace")
        targets = {
            k: v for k, v in (("ttft", asked.slo.ttft), ("tpot", asked.slo.tpot), ("e2e", asked.slo.e2e)) if v
        }
        words = ", ".join(f"{k} {quantity_text(v, 'time')}" for k, v in targets.items())
        yield label, f"{load}, {words or 'no SLO'}"


def plain_name(text: str) -> str:
    """Return a name that Kubernetes takes: small letters, digits, ``-``; at most 50 of them.

    >>> plain_name("Llama 3.1/8B (chat)"), plain_name("…")
    ('llama-3-1-8b-chat', 'row')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:50].strip("-") or "row"


def names_of(labels: Sequence[str]) -> list[str]:
    """Return a name for each label, all different."""
    names: list[str] = []
    for label in labels:
        name, number = plain_name(label), 2
        while name in names:
            name, number = f"{plain_name(label)[:45]}-{number}", number + 1
        names.append(name)
    return names


def group_name(number: int, group: ServerGroupSpec) -> str:
    """Return the name of a server group in files.

    >>> group_name(0, ServerGroupSpec(gpu="a100-40gb"))
    'group-0-a100-40gb'
    """
    return f"group-{number}-{plain_name(group.gpu)}"


def selector(group: ServerGroupSpec) -> dict[str, str]:
    """Return the labels of nodes with a group's GPU; nothing where NVIDIA's name of it is not known."""
    label = label_of(group.gpu)
    return {"nvidia.com/gpu.product": label} if label else {}


def group_annotations(number: int, group: ServerGroupSpec) -> dict[str, str]:
    """Return what says the group's servers, so that they can be read back."""
    instances = group.instances
    said: Mapping[str, object] = {
        "group": number, "servers": group.count, "gpu": group.gpu, "gpus": group.gpus, "vcpus": group.vcpus,
        "instances": instances and instances.most, "mig": group.mig, "mps": group.mps,
    }  # fmt: skip
    return {f"{ANNOTATION}{key}": str(value) for key, value in said.items() if value is not None}
