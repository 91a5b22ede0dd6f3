"""Uncertainty of task times: stated in a file, or modelled and perhaps off.

A simulated or predicted mean is exact for the task times that it was given. Times that a cost model
made are themselves uncertain (:mod:`nona.models.cost.costed`), and this error is usually far larger than
that of the simulation. One function for all pages says how far the mean may move then.
"""

from __future__ import annotations

from collections.abc import Mapping

from nona.core.document import GivenTimes, ModelFacts
from nona.core.units import format_number
from nona.models.cost.costed import CostedGraph, OperatorCost
from nona.models.cost.stated import by_law, unscaled_share
from nona.models.graph.model import ANY_DEVICE, ModelGraph

REMEDY = "name its device in the file, or on the Models page under Given times (scenario key cost.given)"


def given_times(costed: CostedGraph) -> GivenTimes:
    """For which hardware the times hold that the model's file states."""
    names = [c.given_on for c in costed.costs if c.given_on and c.given_on != ANY_DEVICE]
    everywhere = costed.graph.device == ANY_DEVICE and any(c.given_on == ANY_DEVICE for c in costed.costs)
    return GivenTimes(on=tuple(dict.fromkeys(names)), unscaled=unscaled_share(costed), everywhere=everywhere)


def given_text(given: GivenTimes, device: str) -> str:
    """Return the origin of stated times on ``device`` in words; empty without any.

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
    """Return the origin of one operator's time on ``device`` in words."""
    if cost.given_on in ("", device):
        return cost.provenance
    if cost.given_on == ANY_DEVICE:
        return f"{cost.provenance}, no device named"
    if cost.provenance == "given":
        return f"given on {cost.given_on}; it does not run on the GPU"
    origin = "measured" if cost.provenance == "calibrated" else "given"
    return f"{origin} on {cost.given_on}, {cost.provenance} on {device}"


def hardware_warnings(models: Mapping[str, GivenTimes]) -> list[str]:
    """Return a sentence for each model whose times do not depend on the hardware though they should.

    >>> hardware_warnings({"flow": GivenTimes(unscaled=1.0)})[0].split(":")[0]
    'flow'
    >>> hardware_warnings({"flow": GivenTimes(on=("t4",)), "talk": GivenTimes(everywhere=True)})
    []
    """
    return [
        f"{name}: {format_number(100 * given.unscaled)} % of its time is the same on every GPU and slice, "
        "because its "
        f"file gives times without a device. So a slice costs no time. To change that, {REMEDY}."
        for name, given in models.items()
        if given.unscaled > 0
    ]


COUNTED_ENOUGH = 0.01  # share of a model's operators that may be uncounted under a verdict


def no_verdict(name: str, uncounted: int, with_work: int) -> str:
    """Explain that a model gets no verdict; empty where (almost) all of its work is counted.

    >>> no_verdict("net", 1, 200)
    ''
    >>> no_verdict("net", 39, 61)
    "No verdict: 39 of 61 operators of 'net' have no known work. Give numbers for its dimensions (symbols), \
measured times (cost.measured), or a time per operator (compute_ms in node-link JSON)."
    """
    if uncounted <= COUNTED_ENOUGH * with_work:
        return ""
    return (
        f"No verdict: {uncounted:,} of {with_work:,} operators of {name!r} have no known work. Give numbers "
        "for its dimensions (symbols), measured times (cost.measured), or a time per operator (compute_ms in "
        "node-link JSON)."
    )


def law_note(graph: ModelGraph, per_query: float) -> str:
    """Say that batches of a model take times by the law; empty where its file or a model gives them."""
    if not by_law(graph):
        return ""
    return (
        "Batching: its file gives times of one query; a batch of b is modelled as 1 − p + p·b times as "
        f"long, p = {100 * per_query:g} % (per_query). Give batch_ms, or measured times."
    )


def uncounted_shares(models: Mapping[str, ModelFacts]) -> dict[str, float]:
    """Model → share of the operators that have neither known work nor a time, where there are any."""
    return {name: m.uncounted / m.with_work for name, m in models.items() if m.uncounted}


def model_warnings(models: Mapping[str, ModelFacts]) -> list[str]:
    """List warnings: verdicts that are not given, uncounted work by model, and times without hardware."""
    refused = [no_verdict(name, m.uncounted, m.with_work) for name, m in models.items()]
    passed_over = [f"{name}: {line}" for name, m in models.items() for line in m.warnings]
    given = {name: m.given for name, m in models.items()}
    return [*filter(None, refused), *passed_over, *hardware_warnings(given)]


def hardware_notes(models: Mapping[str, GivenTimes], device: str) -> list[str]:
    """Return a sentence for each model with stated times that are carried to ``device`` or hold on any."""
    return [
        f"{name}: its times are {given_text(given, device)}."
        for name, given in models.items()
        if given.everywhere or any(on != device for on in given.on)
    ]


LEVEL = 0.9  # how likely true times are within the range: what "usually" means here
TAKEN = frozenset({"given", "measured"})  # origins of times that are taken at their word
