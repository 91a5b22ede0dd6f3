"""``nona contract``: the report on tasks, steps, sub-graphs, and glued tasks."""

from __future__ import annotations

from nona import study
from nona.cli.options import ContractOptions
from nona.hardware.network import Network
from nona.placement.spans.messages import Link
from nona.report.inputs.coarsening import coarsening_report
from nona.report.inputs.models import contraction
from nona.results.model import FullContraction


def contract_report(arguments: ContractOptions, model: study.PreparedModel) -> FullContraction:
    """Contract a model, and glue its tasks."""
    network = Network(arguments.capacity, arguments.latency)
    glued = study.glued_model(model, Link(network.capacity, network.latency_s), share=arguments.share)
    counts = study.configuration_counts(model)
    found = contraction(model.contracted, model.costed[0], model.decomposition, counts)
    return FullContraction(**{**dict(found), "rule": arguments.rule, "coarsening": coarsening_report(glued)})
