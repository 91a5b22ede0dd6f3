"""``nona contract``: the report on tasks, steps, sub-graphs, and glued tasks."""

from __future__ import annotations

from typing import Any

from nona import study
from nona.cli.options import ContractOptions
from nona.hardware.network import Network
from nona.placement.spans.messages import Link
from nona.report.inputs.coarsening import coarsening_report
from nona.report.inputs.models import contraction


def contract_report(arguments: ContractOptions, model: study.PreparedModel) -> dict[str, Any]:
    """The object that ``nona contract --json`` prints."""
    network = Network(arguments.capacity, arguments.latency)
    glued = study.glued_model(model, Link(network.capacity, network.latency_s), share=arguments.share)
    counts = study.configuration_counts(model)
    report = contraction(model.contracted, model.costed[0], model.decomposition, counts)
    return report | {"rule": arguments.rule, "coarsening": coarsening_report(glued)}
