"""What ``nona study`` does: runs a study, or shows its shipped results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from nona.cli.options import (
    DecisionOptions,
    ElasticLinkOptions,
    ElasticStudyOptions,
    EstimatorOptions,
    MapOptions,
    NetworkViewOptions,
    PaperOptions,
    ServerlessStudyOptions,
    StudyOptions,
    TrainingStudyOptions,
)
from nona.cli.output import emit
from nona.errors import SimulationError
from nona.report.files import csv_bytes
from nona.report.html.paper import paper_html
from nona.report.studies.decisions import file_rows
from nona.report.studies.decisions_text import decisions_text
from nona.report.studies.elastic import elastic_study_text, link_study_text
from nona.report.studies.network_views import file_rows as network_view_rows
from nona.report.studies.network_views import network_views_text
from nona.report.studies.paper import paper_text, point_rows
from nona.report.studies.prediction_map import map_text
from nona.report.studies.serverless_text import study_text
from nona.report.studies.training import estimator_text
from nona.report.studies.training import study_text as training_text
from nona.results.elastic import ElasticLinkStudy, ElasticStudy
from nona.results.serverless_study import ServerlessStudy
from nona.results.studies import (
    DecisionStudy,
    EstimatorStudy,
    NetworkViewsStudy,
    PaperStudy,
    PredictionMap,
    TrainingStudy,
)
from nona.study.decisions import DecisionProgress, DecisionSettings, decisions_study
from nona.study.exports import check_places, write_text
from nona.study.network_views import NetworkViewSettings, network_views_study
from nona.study.paper import PaperSettings, paper_study
from nona.study.prediction_map import MapSettings, map_study
from nona.study.serverless.study import StudyProgress, StudySettings, serverless_study
from nona.study.shipped import (
    shipped_decisions,
    shipped_elastic,
    shipped_elastic_link,
    shipped_estimator,
    shipped_map,
    shipped_network_views,
    shipped_paper,
    shipped_serverless,
    shipped_training,
)
from nona.study.training.elastic_study import (
    ElasticLinkSettings,
    ElasticStudySettings,
    elastic_link_study,
    elastic_study,
)
from nona.study.training.published import EstimatorSettings, estimator_study, training_study
from nona.study.training.published import StudySettings as TrainingSettings

R = TypeVar("R")

Options = TypeVar(
    "Options",
    bound=StudyOptions | EstimatorOptions | TrainingStudyOptions | ElasticStudyOptions | ElasticLinkOptions,
)


def _data_of(arguments: Options, read: Callable[[], R], run: Callable[[Options], R]) -> R:
    """The shipped results of a study, or those of a run now."""
    if arguments.shipped:
        return read()
    data = run(arguments)
    if sys.stderr.isatty():
        print(file=sys.stderr)  # the line of progress ends
    return data


def tell(fraction: float, text: str) -> None:
    """Progress on one line of the terminal, if one is attached."""
    if sys.stderr.isatty():
        print(f"\r{fraction:6.1%}  {text:<40}", end="", file=sys.stderr, flush=True)


def _write_rows(path: Path | None, rows: Sequence[Mapping[str, object]]) -> None:
    """Write a study's rows as CSV, if a file was asked for."""
    if path is not None:
        import pandas as pd

        write_text(path, csv_bytes(pd.DataFrame(rows)).decode())


def paper(arguments: PaperOptions) -> None:
    """Run the paper's evaluation, or show the shipped results."""
    check_places(arguments.csv, arguments.html)
    data = _data_of(arguments, shipped_paper, _run_paper)
    emit(arguments, data, paper_text)  # before the files: whatever happens to them, it is there
    _write_rows(arguments.csv, point_rows(data))
    if arguments.html:
        write_text(arguments.html, paper_html(data))


def _run_paper(arguments: PaperOptions) -> PaperStudy:
    settings = PaperSettings(arguments.jobs, arguments.replications, arguments.seed)
    data = None
    for progress in paper_study(settings, engine=arguments.engine, workers=arguments.workers):
        tell(progress.fraction, progress.text)
        data = progress.data
    if data is None:
        raise SimulationError("Study: it ended without a result; run it again.")
    return data


def prediction(arguments: MapOptions) -> None:
    """Compare the prediction with the simulation, or show the shipped map."""
    data = _data_of(arguments, shipped_map, _run_map)
    emit(arguments, data, map_text)


def _run_map(arguments: MapOptions) -> PredictionMap:
    chosen = tuple(arguments.scenario or MapSettings().scenarios)
    settings = MapSettings(arguments.tasks, arguments.replications, arguments.seed, chosen)
    return map_study(settings, engine=arguments.engine, workers=arguments.workers, on_progress=tell)


def serverless(arguments: ServerlessStudyOptions) -> None:
    """Compare ESG with four other policies and with the slides, or show the shipped results."""
    data = _data_of(arguments, shipped_serverless, _run_serverless)
    emit(arguments, data, study_text)


def _run_serverless(arguments: ServerlessStudyOptions) -> ServerlessStudy:
    def told(progress: StudyProgress) -> None:
        tell(progress.fraction, progress.text)

    settings = StudySettings(
        calls=arguments.calls,
        replications=arguments.replications,
        small=arguments.small,
        few=arguments.few,
        seed=arguments.seed,
    )
    return serverless_study(settings, workers=arguments.workers, on_progress=told)


def estimator(arguments: EstimatorOptions) -> None:
    """Measure the throughput estimator's error on the shipped table, or show the shipped results."""
    emit(arguments, _data_of(arguments, shipped_estimator, _run_estimator), estimator_text)


def _run_estimator(arguments: EstimatorOptions) -> EstimatorStudy:
    settings = EstimatorSettings(replications=arguments.replications, seed=arguments.seed)
    return estimator_study(settings, tell)


def training(arguments: TrainingStudyOptions) -> None:
    """Compare training policies with each other and with the paper, or show the shipped results."""
    emit(arguments, _data_of(arguments, shipped_training, _run_training), training_text)


def _run_training(arguments: TrainingStudyOptions) -> TrainingStudy:
    settings = TrainingSettings(
        jobs=arguments.jobs,
        at_once=arguments.at_once,
        gpus=arguments.gpus,
        replications=arguments.replications,
        loads=arguments.load or TrainingSettings().loads,
        seed=arguments.seed,
        policies=arguments.policy,
    )
    return training_study(settings, workers=arguments.workers, on_progress=tell)


def network_views(arguments: NetworkViewOptions) -> None:
    """Run every scheduler on an idle and on a loaded link, or show the shipped results."""
    check_places(arguments.csv)
    data = _data_of(arguments, shipped_network_views, _run_network_views)
    emit(arguments, data, network_views_text)
    _write_rows(arguments.csv, network_view_rows(data))


def _run_network_views(arguments: NetworkViewOptions) -> NetworkViewsStudy:
    settings = NetworkViewSettings(
        jobs=arguments.jobs,
        replications=arguments.replications,
        seed=arguments.seed,
        schedulers=arguments.scheduler,
    )
    return network_views_study(settings, engine=arguments.engine, workers=arguments.workers, on_progress=tell)


def decisions(arguments: DecisionOptions) -> None:
    """Simulate the placement and the other schedulers, or show the shipped results."""
    check_places(arguments.csv)
    data = _data_of(arguments, shipped_decisions, _run_decisions)
    emit(arguments, data, decisions_text)
    _write_rows(arguments.csv, file_rows(data))


def _run_decisions(arguments: DecisionOptions) -> DecisionStudy:
    def told(progress: DecisionProgress) -> None:
        tell(progress.fraction, progress.text)

    usual = DecisionSettings()
    settings = DecisionSettings(
        networks=arguments.network,
        links=arguments.link or usual.links,
        full=arguments.full,
        jobs=arguments.jobs,
        replications=arguments.replications,
        most=arguments.most,
        seed=arguments.seed,
    )
    return decisions_study(settings, engine=arguments.engine, workers=arguments.workers, on_progress=told)


def elastic(arguments: ElasticStudyOptions) -> None:
    """Compare policies for elastic jobs with each other and with the authors' figures."""
    emit(arguments, _data_of(arguments, shipped_elastic, _run_elastic), elastic_study_text)


def _run_elastic(arguments: ElasticStudyOptions) -> ElasticStudy:
    usual = ElasticStudySettings()
    settings = ElasticStudySettings(
        workloads=arguments.workload or usual.workloads,
        loads=arguments.load or usual.loads,
        interference=arguments.interference or usual.interference,
        policies=arguments.policy,
        generations=arguments.generations,
        replications=arguments.replications,
        seed=arguments.seed,
    )
    return elastic_study(settings, workers=arguments.workers, on_progress=tell)


def elastic_link(arguments: ElasticLinkOptions) -> None:
    """Compare policies for elastic jobs without a link and on links that others use too."""
    emit(arguments, _data_of(arguments, shipped_elastic_link, _run), link_study_text)


def _run(arguments: ElasticLinkOptions) -> ElasticLinkStudy:
    usual = ElasticLinkSettings()
    settings = ElasticLinkSettings(
        workloads=arguments.workload or usual.workloads,
        capacities=arguments.capacity or usual.capacities,
        background=arguments.background,
        policies=arguments.policy,
        generations=arguments.generations,
        replications=arguments.replications,
        seed=arguments.seed,
    )
    return elastic_link_study(settings, workers=arguments.workers, on_progress=tell)
