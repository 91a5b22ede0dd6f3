"""Report on devices: one row each, with the sources of the figures."""

from __future__ import annotations

from nona.hardware.device import Device, Fact
from nona.results.catalogue import DeviceEntry
from nona.units import format_count, format_size


def device_row(device: Device) -> DeviceEntry:
    """Figures of a device for ``nona devices``."""
    return DeviceEntry(
        name=device.name,
        title=device.title,
        fp16=format_count(device.peak("fp16"), "FLOP/s"),
        memory=format_size(device.memory_bytes),
        bandwidth=f"{format_size(device.bandwidth)}/s",
        mig="yes" if device.mig else "no",
        peak_flop_per_s={str(k): v for k, v in device.peaks.items()},
        memory_bytes=device.memory_bytes,
        bandwidth_bytes_per_s=device.bandwidth,
        sms=device.sms,
        sources={key: _source(fact) for key, fact in device.facts.items()},
    )


def _source(fact: Fact) -> str:
    """A source in words, with how sure it is.

    >>> _source(Fact("a data sheet", "yes")), _source(Fact("a data sheet", "recollected"))
    ('a data sheet (checked)', 'a data sheet (recollected)')
    """
    if fact.checked == "user":
        return fact.source
    return f"{fact.source} ({'checked' if fact.checked == 'yes' else fact.checked})"
