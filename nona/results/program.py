"""Results on the program itself: what it offers by name."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document


class DeviceEntry(Document):
    """A device: texts with units beside numbers in SI units; ``sources`` are those of its attributes."""

    name: str
    title: str
    fp16: str
    memory: str
    bandwidth: str
    mig: str
    peak_flop_per_s: Mapping[str, float]
    memory_bytes: float
    bandwidth_bytes_per_s: float
    sms: int
    sources: Mapping[str, str]


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
