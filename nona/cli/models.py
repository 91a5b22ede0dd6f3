"""Commands on one model: inspect, contract."""

from __future__ import annotations

from pathlib import Path

from nona.cli.commands.models import ContractOptions, InspectOptions, ModelOptions, TrainDecimaOptions
from nona.cli.output import ProgressReport, emit
from nona.cluster.hardware.executor import executor_class
from nona.core.registry import load
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
from nona.scenario.lookup import Sources


def inspect(arguments: InspectOptions) -> None:
    """Figures of one model on one device, and the times of its batches."""
    prepared = _prepare_model(arguments, largest=max(arguments.batches, default=1))
    report = inspection(prepared.costed[0])
    if not arguments.batches:
        emit(arguments, report, inspection_text)
        return
    times = batched_times(prepared.batch_s[:, 0].sum(axis=1), sorted(set(arguments.batches)))
    note = law_note(prepared.graph, PER_QUERY)
    texts = inspection_text(report), BATCHES.fill(times.batches).text(), fit_text(times), note
    emit(arguments, report, lambda _: "\n".join(filter(None, texts)), times.to_json())


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
