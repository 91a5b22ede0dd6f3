"""Commands on one model: inspect, contract."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from nona.cli.commands.models import ContractOptions, InspectOptions, ModelOptions, TrainDecimaOptions
from nona.cli.output import ProgressReport, emit
from nona.cluster.hardware.device import find_device
from nona.cluster.hardware.executor import executor_class
from nona.core.errors import GraphError, NonaError
from nona.core.registry import load
from nona.language.gpu import WeightPrecision
from nona.language.models import LanguageModel, language_models, read_config
from nona.language.report.memory import TOKENS, engine_memory, memory_text
from nona.models.contraction.rules import DEFAULT_RULE
from nona.models.cost.options import PER_QUERY, CostOptions
from nona.models.prepared import PreparedModel, prepare_model
from nona.models.report import (
    BATCHES,
    batched_times,
    contraction,
    contraction_text,
    fit_text,
    inspection,
    inspection_text,
)
from nona.models.times_report import law_note
from nona.queries.placement.enumeration import configuration_counts
from nona.scenario.language import UTILIZATION
from nona.scenario.lookup import Sources, is_config
from nona.scenario.sample_files import sample_names

_LANGUAGE = ("tokens", "requests", "share")


def inspect(arguments: InspectOptions) -> None:
    """Figures of one model on one device, and the times of its batches; or the memory of an engine."""
    if (model := _language_model(arguments)) is not None:
        _engine(arguments, model)
        return
    prepared = _prepare_model(arguments, largest=max(arguments.batches, default=1))
    report = inspection(prepared.costed[0])
    if not arguments.batches:
        emit(arguments, report, inspection_text)
        return
    seconds = prepared.batch_s[:, 0].sum(axis=1)
    times = batched_times(seconds, sorted(set(arguments.batches)), prepared.costed[0])
    note = law_note(prepared.graph, PER_QUERY)
    texts = inspection_text(report), BATCHES.fill(times.batches).text(), fit_text(times), note
    emit(arguments, report, lambda _: "\n".join(filter(None, texts)), times.to_json())


def _language_model(arguments: InspectOptions) -> LanguageModel | None:
    """Return the language model that is meant, if one is: where both are known, options of it decide."""
    name, asked = arguments.model, any(getattr(arguments, key) is not None for key in _LANGUAGE)
    if name in language_models() and (asked or name not in sample_names()):
        return language_models()[name]
    if is_config(name):
        try:
            return read_config(Sources(Path()).read(name), Path(name).name)
        except NonaError:
            if asked:
                raise
    if asked:
        raise GraphError(
            f"{name!r} is no language model, which --tokens, --requests and --share are for; leave them "
            f"out, or take one of {', '.join(language_models())}, or a config.json."
        )
    return None


def _engine(arguments: InspectOptions, model: LanguageModel) -> None:
    precision = "fp16" if arguments.precision in ("auto", "model") else arguments.precision
    report = engine_memory(
        model,
        find_device(arguments.device),
        UTILIZATION if arguments.share is None else arguments.share,
        tp=arguments.tp,
        precision=cast(WeightPrecision, precision),
        kv=arguments.kv,
        tokens=arguments.tokens or TOKENS,
        requests=arguments.requests or 0,
    )
    emit(arguments, report, memory_text)


def contract(arguments: ContractOptions) -> None:
    """Tasks, steps and sub-graphs of one model."""
    model = _prepare_model(arguments, arguments.rule)
    counts = configuration_counts(model.tasks, model.decomposition)
    report = contraction(model.contracted, model.costed[0], model.decomposition, counts)
    emit(arguments, report, contraction_text)


def _prepare_model(arguments: ModelOptions, rule: str = DEFAULT_RULE, largest: int = 1) -> PreparedModel:
    graph = Sources(Path()).model(arguments.model, dict(arguments.symbol))
    options = CostOptions(arguments.stack, arguments.precision, arguments.batch)
    return prepare_model(graph, (executor_class(arguments.device),), options, rule, largest=largest)


def train_decima(arguments: TrainDecimaOptions) -> None:
    """Train a learned scheduler, with the progress on the terminal, and write its weights."""
    from nona.core.output_files import check_places, write_text

    check_places(arguments.output)
    settings = load("evidence.learning.training:TrainSettings")(
        sees_link=not arguments.hide_link,
        iterations=arguments.iterations,
        rollouts=arguments.rollouts,
        jobs=arguments.jobs,
        seed=arguments.seed,
    )
    line = ProgressReport()
    trained = load("evidence.learning.training:trained_file")(
        settings,
        lambda number, jct: line.report(
            f"mean JCT {jct:.2f} times a query's work", number / settings.iterations
        ),
    )
    line.end()
    write_text(arguments.output, trained.to_text())
    first, last = trained.card.curve[0], trained.card.curve[-1]
    print(
        f"{arguments.output}: {len(trained.weights)} weights; mean JCT over a query's work {first:.2f} in "
        f"the first part of the training, {last:.2f} in the last"
    )
