"""Report on times that a model's file states: for which hardware they hold, and what does not scale."""

from __future__ import annotations

from collections.abc import Mapping

from nona.cost.costed import CostedGraph, OperatorCost
from nona.cost.stated import unscaled_share
from nona.graph.model import ANY_DEVICE
from nona.results.about import GivenTimes

REMEDY = "name its device in the file, or on the Models page under Given times (scenario key cost.given)"


def given_times(costed: CostedGraph) -> GivenTimes:
    """For which hardware the times hold that the model's file states."""
    names = [c.given_on for c in costed.costs if c.given_on and c.given_on != ANY_DEVICE]
    everywhere = costed.graph.device == ANY_DEVICE and any(c.given_on == ANY_DEVICE for c in costed.costs)
    return GivenTimes(on=tuple(dict.fromkeys(names)), unscaled=unscaled_share(costed), everywhere=everywhere)


def given_text(given: GivenTimes, device: str) -> str:
    """The origin of stated times on ``device`` in words; empty without any.

    >>> given_text(GivenTimes(on=("a100-40gb",)), "t4")
    'given on a100-40gb, modelled on t4'
    >>> given_text(GivenTimes(everywhere=True), "t4")
    'given for any device, by definition'
    """
    parts = []
    if given.on:
        others = [name for name in given.on if name != device]
        parts.append(f"given on {', '.join(given.on)}" + (f", modelled on {device}" if others else ""))
    if given.everywhere:
        parts.append("given for any device, by definition")
    if given.unscaled > 0:
        parts.append("given without a device, the same on all hardware")
    return "; ".join(parts)


def origin_text(cost: OperatorCost, device: str) -> str:
    """The origin of one operator's time on ``device`` in words."""
    if cost.given_on in ("", device):
        return cost.provenance
    if cost.given_on == ANY_DEVICE:
        return f"{cost.provenance}, no device named"
    if cost.provenance == "given":
        return f"given on {cost.given_on}; it does not run on the GPU"
    origin = "measured" if cost.provenance == "calibrated" else "given"
    return f"{origin} on {cost.given_on}, {cost.provenance} on {device}"


def hardware_warnings(models: Mapping[str, GivenTimes]) -> list[str]:
    """A sentence for each model whose times do not depend on the hardware though they should.

    >>> hardware_warnings({"flow": GivenTimes(unscaled=1.0)})[0].split(":")[0]
    'flow'
    >>> hardware_warnings({"flow": GivenTimes(on=("t4",)), "talk": GivenTimes(everywhere=True)})
    []
    """
    return [
        f"{name}: {100 * given.unscaled:.3g} % of its time is the same on every GPU and slice, because its "
        f"file gives times without a device; a slice then costs it nothing. To change that, {REMEDY}."
        for name, given in models.items()
        if given.unscaled > 0
    ]


def hardware_notes(models: Mapping[str, GivenTimes], device: str) -> list[str]:
    """A sentence for each model with stated times that are carried to ``device`` or hold on any."""
    return [
        f"{name}: its times are {given_text(given, device)}."
        for name, given in models.items()
        if given.everywhere or any(on != device for on in given.on)
    ]
