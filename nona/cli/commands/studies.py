"""``nona study NAME``: the studies that ship with the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nona.cli.commands import group as common
from nona.cli.commands.group import SETTINGS, Commands, Usual, command, takes
from nona.cli.known import ELASTIC_POLICY, ENGINE, MAPPED, NETWORK, TRAINING_POLICY
from nona.cli.options import (
    DecisionOptions,
    ElasticLinkOptions,
    ElasticStudyOptions,
    EstimatorOptions,
    MapOptions,
    NetworkViewOptions,
    PaperOptions,
    ServerlessStudyOptions,
    TrainingStudyOptions,
)
from nona.cli.parameters import Decimal, Quantity, Share, Whole

if TYPE_CHECKING:
    from nona.study.decisions import DecisionSettings
    from nona.study.network_views import NetworkViewSettings
    from nona.study.paper import PaperSettings
    from nona.study.prediction_map import MapSettings
    from nona.study.serverless.study import StudySettings as ServerlessStudySettings
    from nona.study.training.elastic_study import ElasticLinkSettings, ElasticStudySettings
    from nona.study.training.published import EstimatorSettings, StudySettings


F = TypeVar("F", bound=Callable[..., Any])


def _estimator() -> EstimatorSettings:
    from nona.study.training.published import EstimatorSettings

    return EstimatorSettings()


def _training() -> StudySettings:
    from nona.study.training.published import StudySettings

    return StudySettings()


def _elastic() -> ElasticStudySettings:
    from nona.study.training.elastic_study import ElasticStudySettings

    return ElasticStudySettings()


def _link() -> ElasticLinkSettings:
    from nona.study.training.elastic_study import ElasticLinkSettings

    return ElasticLinkSettings()


_workload = click.option(
    "--workload",
    type=Whole(min=1, max=4),
    multiple=True,
    metavar="N",
    help="only this one of the four; repeat for several",
)
_policy = click.option(
    "--policy", type=ELASTIC_POLICY, multiple=True, metavar="P", help="only this one; repeat"
)


def _size(usual: Callable[[], ElasticStudySettings | ElasticLinkSettings]) -> Callable[[F], F]:
    """How much a study of elastic jobs runs, and how; the defaults are those of ``usual``."""
    options = (
        click.option(
            "--generations",
            cls=Usual,
            type=Whole(min=2, max=1000),
            default=lambda: usual().generations,
            help="of each search of Pollux; 100 in its public simulator",
        ),
        click.option(
            "--replications",
            cls=Usual,
            type=Whole(min=1),
            default=lambda: usual().replications,
            help="runs of each point of policies that draw random numbers",
        ),
        click.option(
            "--seed", cls=Usual, type=Whole(), default=lambda: usual().seed, help="seed of all runs"
        ),
        common.workers,
        common.shipped,
        common.json,
    )

    def decorated(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


@command(
    "estimator", "training clusters: how well rates of two jobs on one GPU are estimated from a few profiles"
)
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(min=1),
    default=lambda: _estimator().replications,
    help="how often each model is profiled",
)
@click.option("--seed", cls=Usual, type=Whole(), default=lambda: _estimator().seed, help="seed of all draws")
@common.shipped
@common.json
@takes(EstimatorOptions)
def estimator(options: EstimatorOptions) -> None:
    """The throughput estimator's error."""
    from nona.cli import studies

    studies.estimator(options)


@command("training", "training policies over load and with all jobs at once, compared with Gavel's paper")
@click.option(
    "--jobs", cls=Usual, type=Whole(min=10), default=lambda: _training().jobs, help="jobs that arrive per run"
)
@click.option(
    "--at-once",
    cls=Usual,
    type=Whole(min=1),
    default=lambda: _training().at_once,
    help="jobs present at the start, for the makespan",
)
@click.option(
    "--gpus", cls=Usual, type=Whole(min=1), default=lambda: _training().gpus, help="GPUs of each type"
)
@click.option(
    "--load",
    type=Decimal(),
    multiple=True,
    metavar="JOBS",
    help="single-GPU jobs per hour on 36 GPUs of each type, fewer with fewer GPUs; repeat for several",
)
@click.option(
    "--policy",
    type=TRAINING_POLICY,
    multiple=True,
    metavar="P",
    help="only this one; repeat for several",
)
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(min=1),
    default=lambda: _training().replications,
    help="independent runs of each point",
)
@click.option("--seed", cls=Usual, type=Whole(), default=lambda: _training().seed, help="seed of all runs")
@common.workers
@common.shipped
@common.json
@takes(TrainingStudyOptions)
def training(options: TrainingStudyOptions) -> None:
    """The study of training policies."""
    from nona.cli import studies

    studies.training(options)


@command("elastic", "elastic training jobs: mean JCT over relative load and over interference")
@_workload
@click.option(
    "--load",
    type=Decimal(),
    multiple=True,
    metavar="NUMBER",
    help="times as many jobs in the same hours; repeat for several",
)
@click.option(
    "--interference",
    type=Share(),
    multiple=True,
    help="part of its speed that a job on several nodes loses next to another one; repeat for several",
)
@_policy
@_size(_elastic)
@takes(ElasticStudyOptions)
def elastic(options: ElasticStudyOptions) -> None:
    """The study of elastic jobs."""
    from nona.cli import studies

    studies.elastic(options)


@command(
    "elastic-link", "elastic training jobs: what it costs a policy not to see a link that others use too"
)
@_workload
@click.option(
    "--capacity",
    type=Quantity("bandwidth"),
    multiple=True,
    metavar="RATE",
    help="of the link (default '10 Gbit/s' and '5 Gbit/s'); repeat for several",
)
@click.option(
    "--background",
    cls=Usual,
    type=Decimal(),
    default=lambda: _link().background,
    metavar="U",
    help="part of the link that others use",
)
@_policy
@_size(_link)
@takes(ElasticLinkOptions)
def elastic_link(options: ElasticLinkOptions) -> None:
    """The study of elastic jobs on a link."""
    from nona.cli import studies as link_study

    link_study.elastic_link(options)


TRAINING = (estimator, training, elastic, elastic_link)

SUMMARY = "run or show a shipped study, e.g. the paper's evaluation"


@click.group(
    "study",
    Commands,
    help=SUMMARY,
    short_help=SUMMARY,
    no_args_is_help=False,
    subcommand_metavar="STUDY [OPTIONS]...",
    context_settings=SETTINGS,
)
def study() -> None:
    """The shipped studies."""


def _paper() -> PaperSettings:
    from nona.study.paper import PaperSettings

    return PaperSettings()


def _map() -> MapSettings:
    from nona.study.prediction_map import MapSettings

    return MapSettings()


def _decisions() -> DecisionSettings:
    from nona.study.decisions import DecisionSettings

    return DecisionSettings()


def _network_views() -> NetworkViewSettings:
    from nona.study.network_views import NetworkViewSettings

    return NetworkViewSettings()


def _serverless() -> ServerlessStudySettings:
    from nona.study.serverless.study import StudySettings

    return StudySettings()


@command("paper", "the paper's evaluation: 80 servers, five models, every scheduler to its edge of stability")
@click.option("--jobs", cls=Usual, type=Whole(), default=lambda: _paper().jobs, help="jobs measured per run")
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(),
    default=lambda: _paper().replications,
    help="independent runs of each point",
)
@common.seed
@common.engine
@common.csv
@common.html
@common.workers
@common.shipped
@common.json
@takes(PaperOptions)
def paper(options: PaperOptions) -> None:
    """The paper's evaluation."""
    from nona.cli import studies

    studies.paper(options)


@command("prediction", "the prediction against the simulation, over load, background, locality and models")
@click.option(
    "--tasks",
    cls=Usual,
    type=Whole(),
    default=lambda: _map().tasks,
    help="approximate number of tasks per run",
)
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(),
    default=lambda: _map().replications,
    help="independent runs of each point",
)
@common.seed
@click.option(
    "--scenario", type=MAPPED, multiple=True, metavar="NAME", help="only this one; repeat for several"
)
@common.engine
@common.workers
@common.shipped
@common.json
@takes(MapOptions)
def prediction(options: MapOptions) -> None:
    """The map of the prediction."""
    from nona.cli import studies

    studies.prediction(options)


@command(
    "decisions", "the placement simulated against the other schedulers: all samples and generated networks"
)
@click.option(
    "--network", type=NETWORK, multiple=True, metavar="NAME", help="only this one; repeat for several"
)
@click.option(
    "--link",
    type=Decimal(),
    multiple=True,
    metavar="GBIT",
    help="only this speed; repeat for several",
)
@click.option("--full", is_flag=True, help="all 48 combinations for each network, instead of 12")
@click.option("--jobs", type=Whole(), help="jobs measured per run, instead of a fixed number of events")
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(),
    default=lambda: _decisions().replications,
    metavar="R",
    help="independent runs per round",
)
@click.option(
    "--most",
    cls=Usual,
    type=Whole(),
    default=lambda: _decisions().most,
    help="maximum of runs, where schedulers are close",
)
@click.option("--seed", cls=Usual, type=Whole(), default=lambda: _decisions().seed, help="seed of all runs")
@click.option("--engine", type=ENGINE, default="compiled", help="(default: compiled)")
@click.option("--csv", type=common.OUTPUT, metavar="FILE", help="also write one row per cell and scheduler")
@common.workers
@common.shipped
@common.json
@takes(DecisionOptions)
def decisions(options: DecisionOptions) -> None:
    """The placement against the other schedulers."""
    from nona.cli import studies

    studies.decisions(options)


@command("network-views", "who sees the network: every scheduler on an idle and on a loaded link")
@click.option(
    "--jobs", cls=Usual, type=Whole(), default=lambda: _network_views().jobs, help="jobs measured per run"
)
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(),
    default=lambda: _network_views().replications,
    help="independent runs of each scheduler on each link",
)
@click.option(
    "--seed", cls=Usual, type=Whole(), default=lambda: _network_views().seed, help="seed of all runs"
)
@common.scheduler
@common.engine
@common.csv
@common.workers
@common.shipped
@common.json
@takes(NetworkViewOptions)
def network_views(options: NetworkViewOptions) -> None:
    """Who sees the network."""
    from nona.cli import studies

    studies.network_views(options)


@command(
    "serverless", "ESG and four other policies in the slides' three settings, and what the result depends on"
)
@click.option(
    "--calls", cls=Usual, type=Whole(), default=lambda: _serverless().calls, help="calls measured per run"
)
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(),
    default=lambda: _serverless().replications,
    help="independent runs of each point",
)
@click.option(
    "--small",
    cls=Usual,
    type=Whole(),
    default=lambda: _serverless().small,
    help="calls per run of an alternative",
)
@click.option(
    "--few",
    cls=Usual,
    type=Whole(),
    default=lambda: _serverless().few,
    help="independent runs of each alternative",
)
@common.seed
@common.workers
@common.shipped
@common.json
@takes(ServerlessStudyOptions)
def serverless(options: ServerlessStudyOptions) -> None:
    """The study of serverless policies."""
    from nona.cli import studies

    studies.serverless(options)


STUDIES = (paper, prediction, decisions, network_views, serverless, *TRAINING)
for _command in STUDIES:
    study.add_command(_command)
