"""Studies of training clusters: ``nona study estimator``, ``training``, ``elastic`` and ``elastic-link``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nona.cli.commands import common
from nona.cli.commands.group import Usual, command, takes
from nona.cli.known import ELASTIC_POLICY, TRAINING_POLICY
from nona.cli.parameters import Decimal, Quantity, Share, Whole
from nona.cli.training.options import (
    ElasticLinkOptions,
    ElasticStudyOptions,
    EstimatorOptions,
    TrainingStudyOptions,
)

if TYPE_CHECKING:  # these take most of the program along
    from nona.study.elastic.study import ElasticStudySettings
    from nona.study.elastic_link.run import ElasticLinkSettings
    from nona.study.estimator.study import EstimatorSettings
    from nona.study.training.published.study import StudySettings


F = TypeVar("F", bound=Callable[..., Any])


def _estimator() -> EstimatorSettings:
    from nona.study.estimator.study import EstimatorSettings

    return EstimatorSettings()


def _training() -> StudySettings:
    from nona.study.training.published.study import StudySettings

    return StudySettings()


def _elastic() -> ElasticStudySettings:
    from nona.study.elastic.study import ElasticStudySettings

    return ElasticStudySettings()


def _link() -> ElasticLinkSettings:
    from nona.study.elastic_link.run import ElasticLinkSettings

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
    from nona.cli.studies import study as studies

    studies.estimator(options)


@command("training", "training policies over load and all at once, beside what Gavel's paper states")
@click.option(
    "--jobs", cls=Usual, type=Whole(min=10), default=lambda: _training().jobs, help="jobs that arrive per run"
)
@click.option(
    "--at-once",
    cls=Usual,
    type=Whole(min=1),
    default=lambda: _training().at_once,
    help="jobs that are there at the start, for the makespan",
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
    from nona.cli.studies import study as studies

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
    help="part of its speed that a job on several nodes loses beside another one; repeat for several",
)
@_policy
@_size(_elastic)
@takes(ElasticStudyOptions)
def elastic(options: ElasticStudyOptions) -> None:
    """The study of elastic jobs."""
    from nona.cli.studies import study as studies

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
    from nona.cli.studies import elastic_link as link_study

    link_study.elastic_link(options)


TRAINING = (estimator, training, elastic, elastic_link)
