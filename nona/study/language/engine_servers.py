"""Servers whose GPUs run engines of another size than the scenario's, and the study of such servers alone."""

from __future__ import annotations

from collections.abc import Sequence

from nona.scenario.language import EngineSpec
from nona.scenario.schema import Scenario, ServerGroupSpec
from nona.sources.lookup import Sources
from nona.study.engines import LanguageStudy, MisfitError, prepare_language


def engine_server(group: ServerGroupSpec, gpu: str, gpus: int, tp: int) -> ServerGroupSpec:
    """One server of so many GPUs in engines of ``tp``, which work as those of the group do.

    Step times and blocks that the group gives hold of its own GPU and size alone.
    """
    engine = group.engine or EngineSpec()
    kept = {} if (gpu, tp) == (group.gpu, engine.tp) else {"steps": None, "blocks": "auto"}
    engine = engine.model_copy(update={"tp": tp, **kept})
    return group.model_copy(update={"count": 1, "gpu": gpu, "gpus": gpus, "engine": engine})


def study_on(
    scenario: Scenario, sources: Sources, servers: Sequence[ServerGroupSpec]
) -> LanguageStudy | None:
    """The scenario's requests on these servers alone; ``None`` where the model does not fit their engines."""
    cluster = scenario.cluster.model_copy(update={"servers": tuple(servers)})
    try:
        return prepare_language(scenario.model_copy(update={"cluster": cluster}), sources)
    except MisfitError:
        return None
