"""What a result says of its scenario: provenance, and the times of its models with their origin."""

from __future__ import annotations

import json
from collections.abc import Sequence

from nona.core.document import About, ModelFacts
from nona.models.cost.costed import CostedGraph, sigma_of
from nona.models.graph.node_link import to_node_link
from nona.models.report import provenance_shares
from nona.models.times_report import given_times
from nona.queries.workflows.preparation import PreparedSystem
from nona.queries.workflows.rows import batching_warnings
from nona.scenario.lookup import is_file
from nona.scenario.provenance import about_scenario
from nona.scenario.schema import Scenario

MOST_MODEL_CHARACTERS = 100_000  # of JSON: what a report can carry beside its figures


def provenance_of(prepared: PreparedSystem, made_at: str) -> About:
    """Return the provenance in an export; model files are embedded up to ``MOST_MODEL_CHARACTERS``."""
    return about_scenario(prepared.scenario, _with_models(prepared), made_at)


def _with_models(prepared: PreparedSystem) -> Scenario:
    """Return the prepared system's scenario with its model files embedded, in order, up to a size limit."""
    scenario, room = prepared.scenario, MOST_MODEL_CHARACTERS
    models = dict(scenario.models)
    for row, row_model in zip(scenario.workload, prepared.models, strict=True):
        if row.model in models or not is_file(scenario, row.model):
            continue
        graph = to_node_link(row_model.graph)
        size = len(json.dumps(graph))
        if size <= room:
            models[row.model], room = graph, room - size
    return scenario.model_copy(update={"models": models})


def model_facts(prepared: PreparedSystem) -> dict[str, ModelFacts]:
    """Label of each row of the workload → times of its model, their origin and uncertainty."""
    return {
        name: ModelFacts.from_fields(
            model.costed[0],
            provenance=provenance_shares(model.costed[0]),
            sigma=_sigmas(model.costed),
            given=given_times(model.costed[0]),
            warnings=(
                *model.graph.warnings,
                *model.costed[0].warnings,
                *batching_warnings(prepared.scenario.batching_of(row), row.slo, model.graph),
            ),
        )
        for name, row, model in zip(
            prepared.scenario.labels, prepared.scenario.workload, prepared.models, strict=True
        )
    }


def _sigmas(costed: Sequence[CostedGraph]) -> dict[str, float]:
    sliced = any(c.sliced for c in costed)
    return {p: sigma_of(p, sliced) for p in sorted({c.provenance for c in costed[0].costs})}
