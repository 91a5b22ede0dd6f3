"""Engines of other sizes: servers that have them, and time per output token over the rate, by the formula."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from nona.core.document import number
from nona.core.errors import ScenarioError
from nona.language.formula import EngineLoad, predict
from nona.language.results import SizeCurve
from nona.language.system import LanguageSystem
from nona.language.workflows.engines import MisfitError, PreparedLanguage, prepare_language
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.language import EngineSpec
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario


def engine_server(group: ServerGroupSpec, gpu: str, gpus: int, tp: int) -> ServerGroupSpec:
    """One server of so many GPUs in engines of ``tp``, which work as those of the group do.

    Step times and blocks that the group gives hold of its own GPU and size alone.
    """
    engine = group.engine or EngineSpec()
    kept = {} if (gpu, tp) == (group.gpu, engine.tp) else {"steps": None, "blocks": "auto"}
    engine = engine.model_copy(update={"tp": tp, **kept})
    return group.model_copy(update={"count": 1, "gpu": gpu, "gpus": gpus, "engine": engine})


def prepared_on(
    scenario: Scenario, sources: Sources, servers: Sequence[ServerGroupSpec]
) -> PreparedLanguage | None:
    """Return the scenario's requests on these servers alone.

    ``None`` where the model does not fit their engines.
    """
    cluster = scenario.cluster.model_copy(update={"servers": tuple(servers)})
    try:
        return prepare_language(scenario.model_copy(update={"cluster": cluster}), sources)
    except MisfitError:
        return None


SIZES = (1, 2, 4, 8)
POINTS = 40
FULL = 0.999  # of the load at which queues grow without bound


def engine_sizes(scenario: Scenario, sources: Sources, group: ServerGroupSpec) -> tuple[SizeCurve, ...]:
    """Return the GPUs of a server, at least two, as engines of every size that the model fits.

    Rates are of all rows together, in their mix, up to what the best size serves. A curve ends where its
    engines, or their caches by Little's law, are full.

    Raises ``ScenarioError`` where no size fits, or the formula does not hold of these engines or rows.
    """
    prepared_by_size = dict(_prepared_by_size(scenario, sources, group))
    if not prepared_by_size:
        raise ScenarioError([f"{group.gpu}: the model fits none of its sizes; take GPUs with more memory."])
    if any(_engine_load(prepared.system, 1.0) is None for prepared in prepared_by_size.values()):
        raise ScenarioError(
            [
                "cluster.servers: the formula of this chart needs engines for prompts and answers in vLLM's "
                "order, models without experts, and rows with a rate; simulate these."
            ]
        )
    most = {size: _most(prepared.system) for size, prepared in prepared_by_size.items()}
    scales = np.linspace(0, max(most.values()), POINTS + 1)[1:]
    curves = []
    for size, prepared in prepared_by_size.items():
        rate = sum(row.rate for row in prepared.system.rows)
        own = [*scales[scales < most[size]].tolist(), most[size]]
        predictions = [_engine_load(prepared.system, scale) for scale in own]
        curves.append(
            SizeCurve(
                gpus=size,
                engines=len(prepared.system.engines),
                rates=tuple(scale * rate for scale in own),
                tpot_s=tuple(number(of.tpot_s) if of else None for of in predictions),
                error=prepared.error,
            )
        )
    return tuple(curves)


def own_rate(prepared: PreparedLanguage, group: int) -> float:
    """Return requests per second of the scenario on as many GPUs of a group as :func:`engine_sizes` compares.

    The engines of a model share its requests alike.
    """
    server, system = prepared.scenario.cluster.servers[group], prepared.system
    models = [engine.model for engine in system.engines]
    model = next(models[k] for k, facts in enumerate(prepared.facts) if facts.group == group)
    engines = _gpus(server) / (server.engine.tp if server.engine else 1)
    return sum(row.rate for row in system.rows if row.model == model) * engines / models.count(model)


def _gpus(group: ServerGroupSpec) -> int:
    return max(2, group.gpus)


def _prepared_by_size(
    scenario: Scenario, sources: Sources, group: ServerGroupSpec
) -> Iterator[tuple[int, PreparedLanguage]]:
    """Yield each engine size in GPUs that fits, with the scenario prepared on one server of such engines."""
    if group.engine is None:
        return
    gpus, model = _gpus(group), group.engine.model
    rows = tuple(row for row in scenario.language if model in (None, row.llm.model))
    asked = scenario.model_copy(update={"language": rows})
    for size in SIZES:
        if gpus % size:
            continue
        prepared = prepared_on(asked, sources, [engine_server(group, group.gpu, gpus, size)])
        if prepared is not None:
            yield size, prepared


def _engine_load(system: LanguageSystem, scale: float) -> EngineLoad | None:
    rows = tuple(replace(row, rate=scale * row.rate) for row in system.rows)
    return predict(replace(system, rows=rows), 0)


def _most(system: LanguageSystem) -> float:
    """Return the scale of the rates at which the engines, or their caches, are full."""

    def room(scale: float) -> float:
        prediction = _engine_load(system, scale)
        return 1.0 - prediction.kv_tokens / system.engines[0].kv_tokens if prediction else 1.0

    prediction = _engine_load(system, 1.0)
    by_load = FULL / prediction.load if prediction and prediction.load else 1.0
    return by_load if room(by_load) >= 0 else float(brentq(room, 0.0, by_load))
