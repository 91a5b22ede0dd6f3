"""``nona contract``: the report on tasks, steps, sub-graphs, and glued tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nona import study
from nona.cli.options import ContractOptions
from nona.hardware.network import Network
from nona.placement.spans.messages import Link
from nona.report.inputs.coarsening import coarsening_report
from nona.report.inputs.models import contraction
from nona.report.text import contraction_text
from nona.results.model import ContractionReport
from nona.results.placement.coarsening import CoarseningReport


@dataclass(frozen=True, slots=True)
class Contract:
    """What ``nona contract`` tells: the contraction, and the tasks that stay together."""

    contraction: ContractionReport
    coarsening: CoarseningReport

    @property
    def text(self) -> str:
        """For a terminal."""
        return contraction_text(self.contraction, self.coarsening)

    def to_json(self) -> dict[str, Any]:
        """The object that ``nona contract --json`` prints."""
        return self.contraction.to_json() | {"coarsening": self.coarsening.to_json()}


def contract_report(arguments: ContractOptions, model: study.PreparedModel) -> Contract:
    """Contract a model, and glue its tasks."""
    network = Network(arguments.capacity, arguments.latency)
    glued = study.glued_model(model, Link(network.capacity, network.latency_s), share=arguments.share)
    counts = study.configuration_counts(model)
    report = contraction(model.contracted, model.costed[0], model.decomposition, counts)
    return Contract(report.model_copy(update={"rule": arguments.rule}), coarsening_report(glued))
